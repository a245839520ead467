package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
)

// jsonProblem says why a document cannot be read, in words of the document, not of Go types.
func jsonProblem(err error) string {
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		field := mismatch.Field
		if field == "" {
			field = "the document"
		}
		return fmt.Sprintf("%s is of the wrong type (%s)", field, mismatch.Value)
	}
	return err.Error()
}

// isJSON says whether an answer claims to be JSON.
func isJSON(a answer) bool {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// isErrorDocument says whether an answer is {"errors":["…"]}.
func isErrorDocument(a answer) bool {
	var document struct{ Errors []string }
	return isJSON(a) && json.Unmarshal(a.body, &document) == nil && len(document.Errors) > 0
}
