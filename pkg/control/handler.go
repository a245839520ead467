package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// partTime is how long a part of a walk lasts, not counting its last step: so an operator
// sees progress.
const partTime = 5 * time.Second

// Registry has what answers requests. Every field is required.
type Registry struct {
	Log   Log
	Keys  Keys
	Inbox Inbox
	Walks Walks
}

// Log is the logs of versions: a [versionlog.Log].
type Log interface {
	SetStanding(ctx context.Context, version registry.Subject, to registry.Standing) (registry.Listed, bool, error)
	PublicKey() signing.PublicKey
	OwnKeys(ctx context.Context) ([]signing.PublicKey, error)
}

// Keys are the authors' keys: an [authorkeys.Keys].
type Keys interface {
	All(ctx context.Context, after string) iter.Seq2[authorkeys.Fact, error]
	Distrust(ctx context.Context, fingerprint string) (changed bool, err error)
}

// Inbox is the uploads: an [inbox.Inbox].
type Inbox interface {
	Outcomes(ctx context.Context, prefix, after string) iter.Seq2[inbox.Entry, error]
}

// Walks are the walks over all versions: an [upkeep.Walks].
type Walks interface {
	Reindex(ctx context.Context, after string, withContents bool) upkeep.Walk
	ReadAgain(ctx context.Context, after string) upkeep.Walk
	Resign(ctx context.Context, after string) upkeep.Walk
	Verify(ctx context.Context, after string, quickly bool) upkeep.Walk
	Signatures(ctx context.Context, after string) iter.Seq2[upkeep.Signed, error]
	Inventory(ctx context.Context, of, after string) iter.Seq2[upkeep.Held, error]
}

// Config is what a handler works with.
type Config struct {
	// Registry answers all requests that the other fields do not answer. Required.
	Registry

	// Rotate makes a new signing key and signs with it from then on. Nil: the
	// signing key is changed by a deployment.
	Rotate func(context.Context) (signing.PublicKey, error)

	// Access answers about tokens and rules of trust. Nil: the function login
	// of the deployment does.
	Access *admin.Handler

	// AccessKeys are the bucket's. Nil: they are IAM's.
	AccessKeys AccessKeys
}

// Handler answers requests. It is safe for concurrent use.
type Handler struct {
	config   Config
	partTime time.Duration
}

// New answers requests.
func New(c Config) *Handler { return &Handler{c, partTime} }

// Handle answers a request. What goes wrong is in the answer.
func (h *Handler) Handle(ctx context.Context, r Request) Answer {
	answer, err := h.answer(ctx, r)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return answer
}

func (h *Handler) answer(ctx context.Context, r Request) (a Answer, err error) {
	switch {
	case r.Standing != nil:
		a.Standing, err = h.setStanding(ctx, *r.Standing)
	case r.Rotate != nil:
		a.Rotated, err = h.rotateKey(ctx)
	case r.Distrust != nil:
		a.Distrusted, err = h.distrustKey(ctx, *r.Distrust)
	case r.Keys != nil:
		a.Walked, err = h.keys(ctx, r.Keys.After)
	case r.Resign != nil:
		a.Walked, err = h.walk(ctx, h.config.Walks.Resign(ctx, r.Resign.After))
	case r.Reindex != nil && r.Reindex.Again:
		a.Walked, err = h.walk(ctx, h.config.Walks.ReadAgain(ctx, r.Reindex.After))
	case r.Reindex != nil:
		a.Walked, err = h.walk(ctx, h.config.Walks.Reindex(ctx, r.Reindex.After, r.Reindex.Contents))
	case r.Verify != nil:
		a.Walked, err = h.walk(ctx, h.config.Walks.Verify(ctx, r.Verify.After, r.Verify.Quick))
	case r.List != nil:
		a.Walked, err = h.list(ctx, *r.List)
	case r.Uploads != nil:
		a.Walked, err = h.uploads(ctx, *r.Uploads)
	case r.Access != nil:
		a.Access, err = h.access(ctx, *r.Access)
	case r.RotateAccess != nil:
		a.AccessRotated, err = h.rotateAccess(ctx)
	case r.CreateUploader != nil:
		a.UploaderCreated, err = h.createUploader(ctx, *r.CreateUploader)
	case r.ListUploaders != nil:
		a.Uploaders, err = h.listUploaders()
	case r.RevokeUploader != nil:
		a.UploaderRevoked, err = h.revokeUploader(ctx, r.RevokeUploader.Which)
	default:
		err = errors.New("the request asks for nothing that this larder knows: a newer one sent it, so upgrade this one")
	}
	return a, err
}

func (h *Handler) setStanding(ctx context.Context, r Standing) (*VersionStanding, error) {
	asked, err := r.parse()
	if err != nil {
		return nil, err
	}
	version := asked.version
	now, changed, err := h.config.Log.SetStanding(ctx, version, asked.to)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, fmt.Errorf("there is no %s", version)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", version, err)
	}
	version.Version = now.Version // with its build metadata
	return &VersionStanding{version.String(), asked.to.State, changed}, nil
}

func (h *Handler) rotateKey(ctx context.Context) (*Key, error) {
	if h.config.Rotate == nil {
		return nil, errors.New("this registry signs with a key in KMS, which is changed by a deployment: give another key as SigningKeyArn")
	}
	key, err := h.config.Rotate(ctx)
	if err != nil {
		return nil, fmt.Errorf("make a new signing key: %w", err)
	}
	return &Key{KeyID: key.KeyID, Fingerprint: key.Fingerprint, Role: Current}, nil
}

func (h *Handler) distrustKey(ctx context.Context, r Distrust) (*TrustEnded, error) {
	fingerprint, err := r.parse()
	if err != nil {
		return nil, err
	}
	changed, err := h.config.Keys.Distrust(ctx, fingerprint)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return nil, fmt.Errorf("no namespace has a key with the fingerprint %s: larder keys lists those that there are", fingerprint)
	case errors.Is(err, authorkeys.ErrOwnKey):
		return nil, fmt.Errorf("%s is a key of the registry's own: change it (larder keys rotate), and sign anew what it signed (larder keys resign)", fingerprint)
	case err != nil:
		return nil, fmt.Errorf("key %s: %w", fingerprint, err)
	}
	return &TrustEnded{fingerprint, changed}, nil
}

func (h *Handler) access(ctx context.Context, r admin.Request) (*admin.Answer, error) {
	if h.config.Access == nil {
		return nil, errors.New("tokens and rules of trust are not for this function: it is login that is asked for them")
	}
	answer := h.config.Access.Handle(ctx, r)
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return &answer, nil
}

// walk takes a part of a walk. If ctx ends it, it returns an error: the last finding may be
// wrong, and will be found again.
func (h *Handler) walk(ctx context.Context, walk upkeep.Walk) (*Walked, error) {
	part := newPart(h.partTime)
	for step, err := range walk {
		if err := cmp.Or(ctx.Err(), step.Whole(err)); err != nil {
			return nil, err
		}
		if part.add(step, err) {
			return &part.Walked, nil
		}
	}
	part.Next = ""
	return &part.Walked, ctx.Err()
}

// authorsAfter comes before the cursor of a part that ended among the authors' keys.
const authorsAfter = "keys:"

// keys takes a part of the walk over all keys and then all signatures. It says what each key
// signed.
func (h *Handler) keys(ctx context.Context, after string) (*Walked, error) {
	part := newPart(h.partTime)
	if after == "" {
		if err := h.ownKeys(ctx, part); err != nil {
			return nil, err
		}
	}
	if authors, ok := strings.CutPrefix(after, authorsAfter); ok || after == "" {
		if ends, err := h.authorKeys(ctx, authors, part); err != nil || ends {
			return &part.Walked, err
		}
		after = ""
	}
	for signed, err := range h.config.Walks.Signatures(ctx, after) {
		if err := cmp.Or(ctx.Err(), signed.Whole(err)); err != nil {
			return nil, err
		}
		if signed.KeyID != "" {
			part.signed(h.config.Log.PublicKey().KeyID, signed)
		}
		if part.add(signed.Step, err) {
			return &part.Walked, nil
		}
	}
	part.Next = ""
	return &part.Walked, ctx.Err()
}

func (h *Handler) ownKeys(ctx context.Context, part *part) error {
	keys, err := h.config.Log.OwnKeys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		role := Replaced
		if key.KeyID == h.config.Log.PublicKey().KeyID {
			role = Current
		}
		*part.key(key.KeyID) = Key{KeyID: key.KeyID, Fingerprint: key.Fingerprint, Role: role}
	}
	return nil
}

// authorKeys adds authors' keys, and says whether the part ends with them: an uploader can
// have any number of keys.
func (h *Handler) authorKeys(ctx context.Context, after string, part *part) (ends bool, err error) {
	seen := 0
	for key, err := range h.config.Keys.All(ctx, after) {
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return false, err
		}
		part.author(key)
		part.Next, part.Last = authorsAfter+key.After, "key "+key.Fingerprint
		if seen++; seen >= MaxKeys || time.Now().After(part.end) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// part is a part of a walk that is being taken.
type part struct {
	Walked
	end  time.Time
	at   map[string]int // in Keys, by ID
	size int            // of versions and outcomes, in bytes of JSON
}

func newPart(d time.Duration) *part {
	return &part{Walked: Walked{Steps: map[string]int{}}, end: time.Now().Add(d), at: map[string]int{}}
}

// key returns what the part has of a key so far.
func (p *part) key(id string) *Key {
	if _, known := p.at[id]; !known {
		p.at[id] = len(p.Keys)
		p.Keys = append(p.Keys, Key{KeyID: id})
	}
	return &p.Keys[p.at[id]]
}

// author adds a fact about an author's key. The facts about trust come last.
func (p *part) author(k authorkeys.Fact) {
	key := p.key(k.Fingerprint[max(0, len(k.Fingerprint)-16):])
	key.Fingerprint, key.Role = k.Fingerprint, Author
	switch {
	case k.Revoked:
		key.Trust = Revoked
	case k.Distrusted:
		key.Trust = Distrusted
	default:
		key.Trust = Trusted
	}
	if k.Namespace != "" && !slices.Contains(key.Namespaces, k.Namespace) {
		key.Namespaces = append(key.Namespaces, k.Namespace)
	}
}

// add adds a step, and says whether the part ends with it.
func (p *part) add(step upkeep.Step, err error) (ends bool) {
	p.Next, p.Last = step.After, step.Subject
	p.Steps[step.Leg]++
	switch {
	case !step.Changed:
	case step.Leg == upkeep.ContentsLeg:
		p.Read++
	default:
		p.Changed++
	}
	for _, problem := range step.Problems {
		p.Findings = append(p.Findings, Finding{step.Subject, problem})
	}
	if err != nil {
		p.Findings = append(p.Findings, Finding{step.Subject, err.Error()})
	}
	for _, note := range step.Notes {
		p.Notes = append(p.Notes, Finding{step.Subject, note})
	}
	return len(p.Findings)+len(p.Notes) >= MaxFindings || time.Now().After(p.end)
}

// signed notes who signed a version.
func (p *part) signed(current string, s upkeep.Signed) {
	key := p.key(s.KeyID)
	switch {
	case key.Role != "":
	case s.Author:
		key.Role = Author
	case s.KeyID == current:
		key.Role = Current
	default:
		key.Role = Replaced
	}
	key.Versions = append(key.Versions, strings.TrimPrefix(s.Subject, "provider "))
}
