package dynamostand

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
)

// input is a request of any operation.
type input struct {
	TableName         string
	Key               item
	Item              item
	ConsistentRead    bool
	ExclusiveStartKey item
	Limit             int

	ConditionExpression       string
	KeyConditionExpression    string
	FilterExpression          string
	ProjectionExpression      string
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]attribute

	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string

	RequestItems map[string]struct {
		Keys           []item
		ConsistentRead bool
	}
	TransactItems []write
}

// write is a part of a transaction.
type write struct{ Put, Update, Delete *input }

func (w write) one() input {
	switch {
	case w.Put != nil:
		return *w.Put
	case w.Update != nil:
		return *w.Update
	case w.Delete != nil:
		return *w.Delete
	}
	return input{}
}

// operations answer requests, and say what they cost in read units.
var operations = map[string]func(*Stand, input) (out []byte, units float64, err error){
	"GetItem":            (*Stand).getItem,
	"BatchGetItem":       (*Stand).batchGetItem,
	"Query":              (*Stand).query,
	"Scan":               (*Stand).scan,
	"PutItem":            (*Stand).putItem,
	"UpdateItem":         (*Stand).updateItem,
	"DeleteItem":         (*Stand).deleteItem,
	"TransactWriteItems": (*Stand).transactWriteItems,
}

// units is what it costs to read bytes: a unit for each 4 KiB, or half of one.
func units(size int, consistent bool) float64 {
	all := max(1, math.Ceil(float64(size)/4096))
	if consistent {
		return all
	}
	return all / 2
}

func (s *Stand) getItem(in input) ([]byte, float64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := s.find(in.Key)
	if found == nil {
		return []byte("{}"), units(0, in.ConsistentRead), nil
	}
	return bytes.Join([][]byte{[]byte(`{"Item":`), found.project(in), []byte("}")}, nil), units(found.size, in.ConsistentRead), nil
}

// project is the JSON of an item, or of those of its attributes that are asked for.
func (s *stored) project(in input) []byte {
	if in.ProjectionExpression == "" {
		return s.json
	}
	part := item{}
	for name := range strings.SplitSeq(in.ProjectionExpression, ",") {
		name = strings.TrimSpace(name)
		if replaced, ok := in.ExpressionAttributeNames[name]; ok {
			name = replaced
		}
		if value, ok := s.item[name]; ok {
			part[name] = value
		}
	}
	return encode(part)
}

func (s *Stand) batchGetItem(in input) ([]byte, float64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found [][]byte
	sum := 0.0
	for _, of := range in.RequestItems {
		for _, key := range of.Keys {
			size := 0
			if i := s.find(key); i != nil {
				found, size = append(found, i.json), i.size
			}
			sum += units(size, of.ConsistentRead)
		}
	}
	return []byte(`{"Responses":{"` + s.name + `":[` + string(bytes.Join(found, []byte(","))) + `]},"UnprocessedKeys":{}}`), sum, nil
}

// maxPage is how much one Query or Scan reads, in bytes.
const maxPage = 1 << 20

// page collects what one Query or Scan answers.
type page struct {
	in            input
	found         [][]byte
	read, scanned int
	last          item // the last one that was read
}

// full says whether no more items are read.
func (p *page) full() bool {
	return p.read >= maxPage || p.in.Limit > 0 && p.scanned >= p.in.Limit
}

func (p *page) add(i *stored, wanted bool) {
	p.read, p.scanned = p.read+i.size, p.scanned+1
	p.last = item{partitionKey: i.item[partitionKey], sortKey: i.item[sortKey]}
	if wanted {
		p.found = append(p.found, i.project(p.in))
	}
}

func (p *page) answer(more bool) ([]byte, float64, error) {
	end := "}"
	if more {
		end = `,"LastEvaluatedKey":` + string(encode(p.last)) + "}"
	}
	out := fmt.Sprintf(`{"Items":[%s],"Count":%d,"ScannedCount":%d%s`, bytes.Join(p.found, []byte(",")), len(p.found), p.scanned, end)
	return []byte(out), units(p.read, p.in.ConsistentRead), nil
}

// keyCondition names the value that PK is compared with.
var keyCondition = regexp.MustCompile(`^` + partitionKey + ` = (:\w+)`)

func (s *Stand) query(in input) ([]byte, float64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	named := keyCondition.FindStringSubmatch(in.KeyConditionExpression)
	if named == nil {
		return nil, 0, fmt.Errorf("the stand-in does not know the key condition %q", in.KeyConditionExpression)
	}
	p := page{in: in}
	of := s.partitions[item{partitionKey: in.ExpressionAttributeValues[named[1]]}.text(partitionKey)]
	if of == nil {
		return p.answer(false)
	}
	for _, name := range of.names {
		i := of.items[name]
		wanted, err := meets(i.item, in.KeyConditionExpression, in)
		if err != nil {
			return nil, 0, err
		}
		if !wanted || in.ExclusiveStartKey != nil && name <= in.ExclusiveStartKey.text(sortKey) {
			continue
		}
		if p.full() {
			return p.answer(true)
		}
		p.add(i, true)
	}
	return p.answer(false)
}

func (s *Stand) scan(in input) ([]byte, float64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := page{in: in}
	after := in.ExclusiveStartKey
	for _, partition := range s.sortedPartitions(after.text(partitionKey)) {
		of := s.partitions[partition]
		for _, name := range of.names {
			if after != nil && partition == after.text(partitionKey) && name <= after.text(sortKey) {
				continue
			}
			if p.full() {
				return p.answer(true)
			}
			wanted, err := meets(of.items[name].item, in.FilterExpression, in)
			if err != nil {
				return nil, 0, err
			}
			p.add(of.items[name], wanted)
		}
	}
	return p.answer(false)
}

// check is nil if a write's condition is met by the item that it is about.
func (s *Stand) check(key item, in input) error {
	var before item
	if found := s.find(key); found != nil {
		before = found.item
	}
	ok, err := meets(before, in.ConditionExpression, in)
	if err != nil || ok {
		return err
	}
	failed := &failure{Type: "ConditionalCheckFailedException", Message: "The conditional request failed"}
	if in.ReturnValuesOnConditionCheckFailure == "ALL_OLD" {
		failed.Item = before
	}
	return failed
}

func (s *Stand) putItem(in input) ([]byte, float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(in.Item, in); err != nil {
		return nil, 0, err
	}
	s.put(in.Item)
	return []byte("{}"), 0, nil
}

// setOne is the only update that the stand-in knows.
var setOne = regexp.MustCompile(`^SET (\w+) = (:\w+)$`)

func (s *Stand) updateItem(in input) ([]byte, float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(in.Key, in); err != nil {
		return nil, 0, err
	}
	return []byte("{}"), 0, s.update(in)
}

// update makes the change of an update.
func (s *Stand) update(in input) error {
	set := setOne.FindStringSubmatch(in.UpdateExpression)
	if set == nil {
		return fmt.Errorf("the stand-in does not know the update %q", in.UpdateExpression)
	}
	after := maps.Clone(in.Key)
	if found := s.find(in.Key); found != nil {
		maps.Copy(after, found.item)
	}
	after[set[1]] = in.ExpressionAttributeValues[set[2]]
	s.put(after)
	return nil
}

func (s *Stand) deleteItem(in input) ([]byte, float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(in.Key, in); err != nil {
		return nil, 0, err
	}
	out := []byte("{}")
	if found := s.find(in.Key); found != nil && in.ReturnValues == "ALL_OLD" {
		out = encode(map[string]item{"Attributes": found.item})
	}
	s.delete(in.Key)
	return out, 0, nil
}

func (s *Stand) transactWriteItems(in input) ([]byte, float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reasons, failed := make([]reason, len(in.TransactItems)), false
	for n, write := range in.TransactItems {
		reasons[n].Code = "None"
		one := write.one()
		key := one.Key
		if write.Put != nil {
			key = one.Item
		}
		if err := s.check(key, one); err != nil {
			if _, ok := err.(*failure); !ok {
				return nil, 0, err
			}
			reasons[n].Code, failed = "ConditionalCheckFailed", true
		}
	}
	if failed {
		return nil, 0, &failure{Type: "TransactionCanceledException", Message: "Transaction cancelled", CancellationReasons: reasons}
	}
	for _, write := range in.TransactItems {
		switch {
		case write.Put != nil:
			s.put(write.Put.Item)
		case write.Update != nil:
			if err := s.update(*write.Update); err != nil {
				return nil, 0, err
			}
		default:
			s.delete(write.Delete.Key)
		}
	}
	return []byte("{}"), 0, nil
}
