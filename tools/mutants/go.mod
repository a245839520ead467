// The mutants of the registry's code, made with Go's standard library alone.
module github.com/larder-registry/larder/tools/mutants

go 1.26.0
