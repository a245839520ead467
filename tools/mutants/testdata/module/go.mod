module tiny.example

go 1.26.0
