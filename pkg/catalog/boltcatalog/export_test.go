package boltcatalog

import "time"

// SetClock replaces the clock.
func (a *Access) SetClock(now func() time.Time) { a.now = now }

// SetPage makes pages of tokens shorter.
func (a *Access) SetPage(size int) { a.page = size }

// SetMaxTickets makes fewer tickets fill the file.
func (a *Access) SetMaxTickets(n int) { a.maxTickets = n }
