# The outcomes of uploads, for subscribers.

# Encrypted with a key of KMS only if one is given: some subscribers need rights to that key.
resource "aws_sns_topic" "outcomes" {
  name              = "${var.bucket_name}-outcomes"
  kms_master_key_id = local.topic_key
  tags              = local.tags
}

# It gives no rights: roles and users of the account have rights of their own.
resource "aws_sns_topic_policy" "outcomes" {
  arn = aws_sns_topic.outcomes.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sns:Publish"
        Resource  = aws_sns_topic.outcomes.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}
