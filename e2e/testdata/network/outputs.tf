output "release" {
  description = "The version of this module."
  value       = trimspace(file("${path.module}/VERSION"))
}

output "subnets" {
  description = "The range of each tier and zone, by name."
  value       = module.subnets.ranges
}
