output "registry_host" {
  description = "The host name that source addresses begin with"
  value       = local.host
}

output "domain_target" {
  description = "What domain_name must point to, if you make its record yourself. Null without a domain_name."
  value       = one(aws_apigatewayv2_domain_name.registry[*].domain_name_configuration[0].target_domain_name)
}

output "domain_target_zone_id" {
  description = "The hosted zone of domain_target, for a record that is an alias. Null without a domain_name."
  value       = one(aws_apigatewayv2_domain_name.registry[*].domain_name_configuration[0].hosted_zone_id)
}

output "api_id" {
  description = "The HTTP API"
  value       = aws_apigatewayv2_api.registry.id
}

output "function_arns" {
  description = "The functions, by their names: discovery, versions, download, catalog, publish, login, and fetch where the mirror fetches"
  value       = { for name, function in aws_lambda_function.this : name => function.arn }
}

output "role_arns" {
  description = "The roles of the functions, by the functions' names, and reconcile, by which the schedule starts publish"
  value       = merge({ for name, role in aws_iam_role.function : name => role.arn }, { reconcile = aws_iam_role.reconcile.arn })
}

output "bucket" {
  description = "The bucket to upload to"
  value       = aws_s3_bucket.registry.bucket
}

output "upload_command" {
  description = "How to publish"
  value       = "aws s3 cp terraform-provider-TYPE_VERSION_OS_ARCH.zip s3://${aws_s3_bucket.registry.bucket}/providers/NAMESPACE/TYPE/"
}

output "uploader_policy_arn" {
  description = "IAM policy for those who upload to uploader_namespace. Null without one."
  value       = one(aws_iam_policy.uploader[*].arn)
}

output "operator_policy_arn" {
  description = "IAM policy for those who operate the registry with the larder command"
  value       = aws_iam_policy.operator.arn
}

output "access_policy_arn" {
  description = "IAM policy for those who make and revoke tokens with the larder command"
  value       = aws_iam_policy.access.arn
}

output "table" {
  description = "The table of the catalog"
  value       = aws_dynamodb_table.catalog.name
}

output "signing_key_arn" {
  description = "The key that signs SHA256SUMS"
  value       = local.signing_key_arn
}

output "signing_key_alias" {
  description = "The alias of the module's own key, which signs if no other key is given"
  value       = aws_kms_alias.signing.name
}

output "queue_url" {
  description = "The queue of uploads"
  value       = aws_sqs_queue.uploads.url
}

output "dead_letter_queue_url" {
  description = "The queue of uploads that found no outcome in all tries"
  value       = aws_sqs_queue.dead_letters.url
}

output "fetch_dead_letter_queue_url" {
  description = "The queue of packages that could not be fetched for the mirror. Null if it fetches nothing."
  value       = one(aws_sqs_queue.fetch_dead_letters[*].url)
}

output "outcomes_topic_arn" {
  description = "The topic to which outcomes of uploads are announced"
  value       = aws_sns_topic.outcomes.arn
}
