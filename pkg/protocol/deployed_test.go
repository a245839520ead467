package protocol

import (
	"os"
	"strings"
	"testing"
)

// TestRoutesAreDeployed holds that template.yaml has each route. A segment is a variable
// as a whole there.
func TestRoutesAreDeployed(t *testing.T) {
	template, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range routes {
		path := strings.ReplaceAll(strings.Join(route.segments, "/"), "{version}.json", "{document}")
		if want := "RouteKey: ANY " + path + "\n"; !strings.Contains(string(template), want) {
			t.Errorf("template.yaml has no %s", want)
		}
	}
}
