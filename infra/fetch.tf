# Pull-through: what the mirror is to fetch from other registries.

# First in, first out, because such a queue drops a message that it got already in the last five minutes. Each package
# is a group of its own, so no package waits for another.
resource "aws_sqs_queue" "fetch" {
  count = local.has_upstreams ? 1 : 0

  name                       = "${var.bucket_name}-fetch.fifo"
  fifo_queue                 = true
  sqs_managed_sse_enabled    = local.queue_managed_sse
  kms_master_key_id          = local.queue_key
  visibility_timeout_seconds = 5400 # six times the function's timeout
  message_retention_seconds  = 345600
  receive_wait_time_seconds  = 20
  tags                       = local.tags

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.fetch_dead_letters[0].arn
    maxReceiveCount     = 3 # whoever asks for the package later asks for it anew
  })
}

resource "aws_sqs_queue" "fetch_dead_letters" {
  count = local.has_upstreams ? 1 : 0

  name                      = "${var.bucket_name}-fetch-dead-letters.fifo"
  fifo_queue                = true
  sqs_managed_sse_enabled   = local.queue_managed_sse
  kms_master_key_id         = local.queue_key
  message_retention_seconds = 1209600
  tags                      = local.tags

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = ["arn:${local.partition}:sqs:${local.region}:${local.account}:${var.bucket_name}-fetch.fifo"]
  })
}

# It gives no rights: fetch has rights of its own.
resource "aws_sqs_queue_policy" "fetch" {
  count = local.has_upstreams ? 1 : 0

  queue_url = aws_sqs_queue.fetch[0].url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.fetch[0].arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_lambda_event_source_mapping" "fetch" {
  count = local.has_upstreams ? 1 : 0

  event_source_arn        = aws_sqs_queue.fetch[0].arn
  function_name           = aws_lambda_function.this["fetch"].function_name
  batch_size              = 1 # a package has the function's time and disk to itself
  function_response_types = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = 2 # new accounts have 10 for all their functions
  }

  depends_on = [aws_iam_role_policy.function] # Lambda tries the role's rights to the queue
}
