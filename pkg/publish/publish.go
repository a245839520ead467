// Package publish takes an upload from the inbox to a listed version. The steps that the
// walks take, too, are in rooms of their own: package inbox knows uploads and outcomes,
// package versionlog records, signs and lists, and package authorkeys knows whom to trust.
//
// # The life of an upload
//
//  1. [Publisher.Publish] is called with an object version: after its event, or by the
//     walk over the inbox that finds uploads whose events were lost.
//  2. Its key says what it is: a module archive, a provider package, a file of a
//     provider's release, its documentation, an author's keys, a mirrored package, or
//     nothing that is published.
//  3. It is read once, to scratch, hashed on the way, and checked.
//  4. Its bytes are copied under registry/, to a key that holds their hash.
//  5. A record is created under the next number of the version's log, and the upload
//     is accepted. Of two uploads that contradict each other, the second finds the
//     record of the first and is rejected.
//  6. A provider version whose packages are not all covered by a signed
//     SHA256SUMS gets a new one, signed, stored and recorded in the same way.
//  7. What a version says of itself is read from the module's archive or from the
//     provider's documentation, by package contents/subprocess, and stored under
//     registry/contents/. Whatever cannot be read is a problem in that document, and
//     keeps nothing from being published.
//  8. The catalog gets the state that the log adds up to, and with it the
//     version is listed. The directory, in which lists and searches look, gets the
//     address's entry.
//  9. The outcome is written: tags, a log line, a document under registry/. A topic
//     announces it, where there is one.
//
// Every step finds the work of an earlier try done, or does it again to the
// same end. So an upload may be delivered twice, late, or at the same time as
// others, and a publisher may die anywhere: the next one goes on.
package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents/store"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// Config is what a [Publisher] works with. All fields but Hostname are required.
type Config struct {
	Bucket   blob.Bucket
	Index    catalog.Index
	Inbox    *inbox.Inbox
	Log      *versionlog.Log
	Keys     *authorkeys.Keys
	Contents *store.Store
	Scratch  string // a folder with room for all uploads that are published at once

	// Hostname is the registry's own, in lower case and in punycode. Uploads to the
	// mirror under it are rejected.
	Hostname string
}

// Publisher publishes uploads. It is safe for concurrent use, also together
// with other publishers on the same bucket and catalog.
type Publisher struct {
	bucket   blob.Bucket
	inbox    *inbox.Inbox
	log      *versionlog.Log
	keys     *authorkeys.Keys
	contents *store.Store
	hostname string

	scratch scratchFolder
	room    room
	authors authors
	waiting waiting
}

// New makes a publisher. It sends no request.
func New(c Config) *Publisher {
	p := &Publisher{
		bucket: c.Bucket, inbox: c.Inbox, log: c.Log, keys: c.Keys, contents: c.Contents, hostname: c.Hostname,
		scratch: scratchFolder(c.Scratch), room: room{c.Index, maxAnswered, maxStored},
	}
	p.waiting = waiting{c.Bucket, c.Inbox, p.PublishKey}
	p.authors = authors{c.Bucket, c.Inbox, c.Log, c.Keys, p.waiting}
	return p
}

// Publish publishes one object version from the inbox as far as possible. It reports and
// returns the outcome; a rejection is an outcome and not an error. The object needs a key
// and a version, and By where an event says it.
//
// Errors are those of storage, catalog and signer. Then nothing is lost, and nothing
// half-done is listed. Another call goes on where this one stopped.
func (p *Publisher) Publish(ctx context.Context, object blob.Object) (inbox.Outcome, error) {
	var reported decision
	for {
		d, err := p.decide(ctx, object)
		if err != nil || d.repeats(reported) {
			return reported.Outcome, err
		}
		if err := p.reportDecision(ctx, d, reported); err != nil || !d.MayChange() {
			return d.Outcome, err
		}
		// Another upload that changes this outcome may have been reported before this
		// report: so decide again. A later upload is reported after this report.
		reported = d
	}
}

// PublishKey publishes the uploads under a key that have no final outcome yet.
func (p *Publisher) PublishKey(ctx context.Context, key string) error {
	waiting, err := p.inbox.Waiting(ctx, key)
	if err != nil {
		return err
	}
	for _, object := range waiting {
		if _, err := p.Publish(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// decision is the outcome of an upload. The two files of an author's release are judged
// together: then it has the outcomes of both.
type decision struct {
	inbox.Outcome
	counterpart *inbox.Outcome // nil if the upload was judged alone
}

// repeats says whether a decision has the same outcomes as the last one.
func (d decision) repeats(last decision) bool {
	return sameOutcome(d.Outcome, last.Outcome) && d.repeatsCounterpart(last)
}

func (d decision) repeatsCounterpart(last decision) bool {
	return d.counterpart == nil || last.counterpart != nil && sameOutcome(*d.counterpart, *last.counterpart)
}

// sameOutcome says whether two outcomes of a key have the same status and reasons.
func sameOutcome(a, b inbox.Outcome) bool {
	return a.Version == b.Version && a.Status == b.Status && slices.Equal(a.Reasons, b.Reasons)
}

// reportDecision reports the outcomes that differ from the last decision. The upload's own
// outcome comes last: an upload without an outcome is tried again.
func (p *Publisher) reportDecision(ctx context.Context, d, last decision) error {
	if !d.repeatsCounterpart(last) {
		if err := p.reportCounterpart(ctx, *d.counterpart); err != nil {
			return err
		}
	}
	if sameOutcome(d.Outcome, last.Outcome) {
		return nil
	}
	return p.inbox.Report(ctx, d.Outcome)
}

// reportCounterpart reports the outcome of a file that was judged together with an
// upload, unless its last outcome is that it is published.
func (p *Publisher) reportCounterpart(ctx context.Context, o inbox.Outcome) error {
	last, err := p.inbox.LastOutcome(ctx, o.Key)
	if err != nil || last.Status == inbox.Published && last.Version == o.Version {
		return err
	}
	return p.inbox.Report(ctx, o)
}

// decide publishes an upload as far as possible, and returns what to report.
func (p *Publisher) decide(ctx context.Context, object blob.Object) (decision, error) {
	d := decision{Outcome: inbox.Outcome{Key: object.Key, Version: object.Version, By: object.By}}
	err := p.publish(ctx, object, &d)
	if d.Status, d.Reasons, err = inbox.Conclude(err); err != nil {
		return decision{}, fmt.Errorf("publish %s: %w", object.Key, err)
	}
	d.Time = registry.Now()
	return d, nil
}

func (p *Publisher) publish(ctx context.Context, object blob.Object, d *decision) error {
	if strings.HasPrefix(object.Key, registry.Prefix) {
		return fmt.Errorf("%s is the registry's own, not an upload", object.Key)
	}
	u, err := inbox.ParseKey(object.Key)
	if err != nil {
		return err
	}
	d.Subject = u.String()
	if u.Provider.Mirrored() && u.Provider.Hostname == p.hostname {
		own := registry.ProviderAddress{Namespace: u.Provider.Namespace, Type: u.Provider.Type}
		return inbox.Reject("%s is this registry itself: upload its providers to %s%s/, and the mirror has them, too", p.hostname, inbox.ProvidersFolder, own)
	}
	switch u.Kind {
	case inbox.ModuleArchive:
		return p.publishModule(ctx, u, object, &d.Outcome)
	case inbox.ProviderPackage:
		return p.publishPackage(ctx, u, object, &d.Outcome)
	case inbox.Manifest:
		return p.publishManifest(ctx, u, object, &d.Outcome)
	case inbox.Docs:
		return p.publishDocs(ctx, u, object, &d.Outcome)
	case inbox.AuthorKeys:
		return p.publishKeys(ctx, u, object, &d.Outcome)
	case inbox.MirrorDocument:
		return p.readMirrorDocument(ctx, u, object, &d.Outcome)
	case inbox.SHA256SUMS, inbox.Signature:
		return p.publishReleaseFile(ctx, u, object, d)
	default:
		return fmt.Errorf("%s is an upload of kind %d, which nobody publishes", object.Key, u.Kind)
	}
}
