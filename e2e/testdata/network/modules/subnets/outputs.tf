output "ranges" {
  description = "The range of each name."
  value       = { for index, name in var.names : name => cidrsubnet(var.cidr, local.bits, index) }
}

output "release" {
  description = "The version of the module that this submodule is a part of."
  value       = trimspace(file("${path.module}/../../VERSION"))
}
