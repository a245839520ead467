package protocol

import (
	"bytes"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/sizedlru"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// keptRoom is how many bytes of answers a handler keeps.
const keptRoom = 32 << 20

// entryOverhead is what an entry takes beside its bytes, roughly.
const entryOverhead = 512

// answer is what is made from one listing or state: a whole answer, or all of it but the
// presigned URLs. It does not change any more.
type answer interface {
	// size is how many bytes it takes.
	size() int
}

// kept has answers, each with the stored bytes that it was made from. The catalog is read
// for every request. If it returns equal bytes, the answer is still right, and need not be
// made again.
type kept struct {
	answers *sizedlru.Cache[Request, keptAnswer]
}

type keptAnswer struct {
	stored []byte
	answer answer
	made   time.Time // zero, if the answer follows from the stored bytes alone
}

// fresh says whether an answer may still be given. One that was also made from a document may for
// as long as the document. This is the wall clock: the other one may stop while a function of
// Lambda is frozen.
func (a keptAnswer) fresh() bool {
	age := time.Now().Round(0).Sub(a.made)
	return a.made.IsZero() || 0 <= age && age < browse.KeptFor
}

func newKept(room int) kept { return kept{sizedlru.New[Request, keptAnswer](room)} }

// get is the answer to a request that was made from these bytes, or nil.
func (k kept) get(request Request, stored []byte) answer {
	if a, ok := k.answers.Get(request); ok && bytes.Equal(a.stored, stored) && a.fresh() {
		return a.answer
	}
	return nil
}

// put keeps an answer, instead of an older one to the same request.
func (k kept) put(request Request, stored []byte, a answer) {
	k.keep(request, keptAnswer{stored: stored, answer: a})
}

// putDetails is put for an answer that was also made from a document.
func (k kept) putDetails(request Request, stored []byte, a answer) {
	k.keep(request, keptAnswer{stored, a, time.Now().Round(0)})
}

func (k kept) keep(request Request, a keptAnswer) {
	size := entryOverhead + request.size() + len(a.stored) + a.answer.size()
	k.answers.Put(request.detached(), a, size)
}

// made is the answer to a request that follows from what a reader has found. An error is
// not kept. What else the answer depends on must be in the request, or be the same for all
// requests to the handler. Two requests at once may both make it.
func made[T any, A answer](k kept, request Request, found catalog.Snapshot[*T], err error, from func(T) (A, error)) (a A, _ error) {
	if err != nil {
		return a, err
	}
	if a, ok := k.get(request, found.Stored()).(A); ok {
		return a, nil
	}
	value, err := decoded(found, nil)
	if err != nil {
		return a, err
	}
	if a, err = from(value); err != nil {
		return a, err
	}
	k.put(request, found.Stored(), a)
	return a, nil
}

// detached is the same request in memory of its own: its strings are parts of a URL, which
// may be much longer.
func (r Request) detached() Request {
	v, _ := registry.ParseVersion(strings.Clone(r.Version.String()))
	m, p := r.Module, r.Provider
	return Request{
		Route:    r.Route,
		Module:   registry.ModuleAddress{Namespace: strings.Clone(m.Namespace), Name: strings.Clone(m.Name), System: strings.Clone(m.System)},
		Provider: registry.ProviderAddress{Hostname: strings.Clone(p.Hostname), Namespace: strings.Clone(p.Namespace), Type: strings.Clone(p.Type)},
		Version:  v,
		Category: contents.Category(strings.Clone(string(r.Category))),
		Slug:     strings.Clone(r.Slug),
		Markdown: r.Markdown,
		Host:     strings.Clone(r.Host),
		Platform: registry.Platform{OS: strings.Clone(r.Platform.OS), Arch: strings.Clone(r.Platform.Arch)},
	}
}

// size is how many bytes the strings of a request take.
func (r Request) size() int {
	return len(r.Module.Namespace) + len(r.Module.Name) + len(r.Module.System) +
		len(r.Provider.Hostname) + len(r.Provider.Namespace) + len(r.Provider.Type) +
		len(r.Version.String()) + len(r.Category) + len(r.Slug) + len(r.Host) + len(r.Platform.OS) + len(r.Platform.Arch)
}
