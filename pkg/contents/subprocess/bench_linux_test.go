package subprocess

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/archive"
)

// BenchmarkModule reads modules in processes, with the largest memory of one.
func BenchmarkModule(b *testing.B) {
	for _, n := range []int{30, 20_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			names := []string{"README.md"}
			for i := range n - 1 {
				names = append(names, fmt.Sprintf("modules/%d/main%d.tf", i%(n/200+3), i))
			}
			data := zipOf(b, names, func(name string) string {
				if name == "README.md" {
					return strings.Repeat("A line of a README.\n", 400)
				}
				return typical(strings.NewReplacer("/", "_", ".", "_").Replace(name))
			})
			b.SetBytes(int64(len(data)))
			largest, processor := int64(0), time.Duration(0)
			for b.Loop() {
				command, err := reexec(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				served := serving{file: bytes.NewReader(data), size: int64(len(data)), texts: io.Discard}
				if _, err := served.process(command, task{kind: moduleTask, format: archive.Zip, size: int64(len(data))}); err != nil {
					b.Fatal(err)
				}
				processor += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
				largest = max(largest, command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
			}
			b.ReportMetric(processor.Seconds()/float64(b.N), "processor-s/op")
			b.ReportMetric(float64(largest)/1024, "MiB/process")
		})
	}
}

// typical is a file of some 60 lines.
func typical(name string) string {
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, `
variable "%[1]s_%[2]d" {
  type        = list(object({ name = string, size = optional(number, 3) }))
  description = "A description of some length, as they are."
  default     = [{ name = "a", size = 1 }, { name = "b" }]
}
resource "aws_instance" "%[1]s_%[2]d" {
  count = length(var.%[1]s_%[2]d)
  tags  = merge(local.tags, { Name = "x-${count.index}" })
}
`, name, i)
	}
	return text.String()
}
