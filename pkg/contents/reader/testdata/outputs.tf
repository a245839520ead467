output "id" {
  description = "The id."
  value       = aws_vpc.this.id
}

output "secret" {
  value      = var.password
  sensitive  = true
  ephemeral  = true
  deprecated = "Do not use it."
}
