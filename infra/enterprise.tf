# What some organizations require. An empty parameter costs and changes nothing. docs/aws.md, "What your organization
# requires".

locals {
  permissions_boundary = var.permissions_boundary_arn == "" ? null : var.permissions_boundary_arn
  queue_key            = var.queue_key_arn == "" ? null : var.queue_key_arn
  topic_key            = var.topic_key_arn == "" ? null : var.topic_key_arn
  log_key              = var.log_key_arn == "" ? null : var.log_key_arn
  queue_managed_sse    = var.queue_key_arn == "" ? true : null # a key of SQS's own, where none is given

  # The functions that connect to others than AWS.
  in_vpc = length(var.subnet_ids) > 0 ? ["login", "fetch"] : []

  # To send and to receive. SQS uses it with the function's rights, as SNS does to publish.
  use_queue_key = var.queue_key_arn == "" ? [] : [
    {
      Sid       = "UseQueueKey"
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = var.queue_key_arn
      Condition = { StringEquals = { "kms:ViaService" = "sqs.${local.region}.amazonaws.com" } }
    },
  ]
  use_topic_key = var.topic_key_arn == "" ? [] : [
    {
      Sid       = "UseTopicKey"
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = var.topic_key_arn
      Condition = { StringEquals = { "kms:ViaService" = "sns.${local.region}.amazonaws.com" } }
    },
  ]

  network_actions = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
  ]

  # What these parameters add to what a function may do.
  enterprise_statements = {
    publish = concat(local.use_queue_key, local.use_topic_key)
    fetch   = concat(local.use_queue_key, local.join_network["fetch"])
    login   = local.join_network["login"]
  }
  join_network = { for name in ["login", "fetch"] : name => [for statement in [
    {
      Sid      = "JoinNetwork" # Lambda itself; they cannot be narrowed to what it is about to make
      Effect   = "Allow"
      Action   = local.network_actions
      Resource = "*"
    },
    {
      Sid       = "LambdaAloneJoins" # and not the function's code
      Effect    = "Deny"
      Action    = local.network_actions
      Resource  = "*"
      Condition = { ArnEquals = { "lambda:SourceFunctionArn" = "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${var.bucket_name}-${name}" } }
    },
  ] : statement if length(var.subnet_ids) > 0] }
}

# publish logs it once at the end of each reconcile, after any number of invocations.
resource "aws_cloudwatch_log_metric_filter" "reconciles" {
  count = var.more_alarms ? 1 : 0

  name           = "${var.bucket_name}-reconciles"
  log_group_name = aws_cloudwatch_log_group.function["publish"].name
  pattern        = "{ $.msg = \"the reconcile is complete\" }"

  metric_transformation {
    namespace = "Larder"
    name      = "${var.bucket_name}-reconciles"
    value     = "1"
  }
}

locals {
  more_alarms = { for name, alarm in merge({
    reconcile = {
      description = "No daily reconcile has come to its end for two days. docs/operations.md, \"No reconcile\""
      namespace   = "Larder"
      metric      = "${var.bucket_name}-reconciles"
      dimensions  = {}
      statistic   = "Sum"
      comparison  = "LessThanThreshold"
      threshold   = 1
      period      = 86400
      evaluations = 2
      missing     = "breaching"
    }
    read-throttles = {
      description = "DynamoDB refuses reads of the table. docs/operations.md, \"The table is throttled\""
      namespace   = "AWS/DynamoDB"
      metric      = "ReadThrottleEvents"
      dimensions  = { TableName = aws_dynamodb_table.catalog.name }
      statistic   = "Sum"
      threshold   = 1
    }
    write-throttles = {
      description = "DynamoDB refuses writes to the table. docs/operations.md, \"The table is throttled\""
      namespace   = "AWS/DynamoDB"
      metric      = "WriteThrottleEvents"
      dimensions  = { TableName = aws_dynamodb_table.catalog.name }
      statistic   = "Sum"
      threshold   = 1
    }
    slow-publish = {
      description = "An upload took publish four fifths of its time. docs/operations.md, \"Publish is slow\""
      namespace   = "AWS/Lambda"
      metric      = "Duration"
      dimensions  = { FunctionName = aws_lambda_function.this["publish"].function_name }
      statistic   = "Maximum"
      threshold   = 480000 # milliseconds
    }
  }, local.fetch_errors_alarm, local.certificate_alarm) : name => alarm if var.more_alarms }

  fetch_errors_alarm = { for name in local.has_upstreams ? ["fetch"] : [] : "fetch-errors" => {
    description = "The function fetch died, or ran out of time. docs/operations.md, \"Packages are not fetched\""
    namespace   = "AWS/Lambda"
    metric      = "Errors"
    dimensions  = { FunctionName = aws_lambda_function.this[name].function_name }
    statistic   = "Sum"
    threshold   = 1
  } }

  certificate_alarm = { for name in local.has_domain ? ["certificate"] : [] : name => {
    description = "The certificate ends in less than 30 days. docs/operations.md, \"The certificate ends\""
    namespace   = "AWS/CertificateManager"
    metric      = "DaysToExpiry"
    dimensions  = { CertificateArn = var.certificate_arn }
    statistic   = "Minimum"
    comparison  = "LessThanThreshold"
    threshold   = 30
    period      = 86400
  } }
}
