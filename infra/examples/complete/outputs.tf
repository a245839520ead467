output "registry" {
  description = "What users need next."
  value       = module.registry
}
