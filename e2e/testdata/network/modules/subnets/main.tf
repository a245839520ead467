locals {
  bits = ceil(log(max(length(var.names), 2), 2))
}
