# Uploads: from the bucket to publish.

resource "aws_sqs_queue" "uploads" {
  name                       = "${var.bucket_name}-uploads"
  sqs_managed_sse_enabled    = local.queue_managed_sse # S3 cannot send to a queue that is encrypted with AWS's own KMS key
  kms_master_key_id          = local.queue_key
  visibility_timeout_seconds = 3600 # six times the function's timeout; publish itself says to try again sooner
  message_retention_seconds  = 1209600
  receive_wait_time_seconds  = 20
  tags                       = local.tags

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters.arn
    maxReceiveCount     = 5
  })
}

resource "aws_sqs_queue" "dead_letters" {
  name                      = "${var.bucket_name}-dead-letters"
  sqs_managed_sse_enabled   = local.queue_managed_sse
  kms_master_key_id         = local.queue_key
  message_retention_seconds = 1209600
  tags                      = local.tags

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = ["arn:${local.partition}:sqs:${local.region}:${local.account}:${var.bucket_name}-uploads"]
  })
}

resource "aws_sqs_queue_policy" "uploads" {
  queue_url = aws_sqs_queue.uploads.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "BucketSends"
        Effect    = "Allow"
        Principal = { Service = "s3.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.uploads.arn
        Condition = {
          ArnEquals    = { "aws:SourceArn" = local.bucket_arn }
          StringEquals = { "aws:SourceAccount" = local.account } # bucket names change hands, ARNs do not say whose
        }
      },
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.uploads.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_lambda_event_source_mapping" "uploads" {
  event_source_arn        = aws_sqs_queue.uploads.arn
  function_name           = aws_lambda_function.this["publish"].function_name
  batch_size              = 1 # an upload has the function's time and disk to itself
  function_response_types = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = var.publish_concurrency # reserved concurrency would take from accounts that have little
  }

  depends_on = [aws_iam_role_policy.function] # Lambda tries the role's rights to the queue
}

# A long reconcile goes on through the function's own queue, step by step.
resource "aws_lambda_function_recursion_config" "publish" {
  function_name  = aws_lambda_function.this["publish"].function_name
  recursive_loop = "Allow"
}

resource "aws_scheduler_schedule" "reconcile" {
  name                = "${var.bucket_name}-reconcile"
  description         = "Publishes what no event told of, and brings the catalog up to the records"
  schedule_expression = "rate(1 day)"

  flexible_time_window {
    mode                      = "FLEXIBLE"
    maximum_window_in_minutes = 60
  }

  target {
    arn      = aws_lambda_function.this["publish"].arn
    role_arn = aws_iam_role.reconcile.arn
    input    = jsonencode({ reconcile = {} })
  }
}
