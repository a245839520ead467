# What became of uploads, for whoever subscribes.

# Not encrypted with a key of KMS unless one is given: some subscribers need rights to it.
resource "aws_sns_topic" "outcomes" {
  name              = "${var.bucket_name}-outcomes"
  kms_master_key_id = local.topic_key
  tags              = local.tags
}

# It allows nobody anything: roles and users of the account have rights of their own.
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
