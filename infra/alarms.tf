locals {
  # The defaults of an alarm.
  usual_alarm = {
    comparison  = "GreaterThanOrEqualToThreshold"
    period      = 300
    evaluations = 1
    missing     = "notBreaching"
  }

  alarms = { for name, alarm in merge({
    dead-letters = {
      description = "An upload could not be taken to an outcome in five tries. docs/operations.md, \"Dead letters\""
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      dimensions  = { QueueName = aws_sqs_queue.dead_letters.name }
      statistic   = "Maximum"
      threshold   = 1
    }
    oldest-upload = {
      description = "An upload has waited for an hour. docs/operations.md, \"Uploads wait\""
      namespace   = "AWS/SQS"
      metric      = "ApproximateAgeOfOldestMessage"
      dimensions  = { QueueName = aws_sqs_queue.uploads.name }
      statistic   = "Maximum"
      threshold   = 3600
    }
    # A failed upload is reported to the queue and is no error of the function. These are crashes and time-outs.
    publish-errors = {
      description = "The function publish died, or its daily walk failed. docs/operations.md, \"Publish fails\""
      namespace   = "AWS/Lambda"
      metric      = "Errors"
      dimensions  = { FunctionName = aws_lambda_function.this["publish"].function_name }
      statistic   = "Sum"
      threshold   = 1
    }
    server-errors = {
      description = "Requests to the registry fail. docs/operations.md, \"Requests fail\""
      namespace   = "AWS/ApiGateway"
      metric      = "5xx"
      dimensions  = { ApiId = aws_apigatewayv2_api.registry.id }
      statistic   = "Sum"
      threshold   = 5
    }
    # Without a dimension, the metric is for the whole account and region: all its functions share one limit.
    throttles = {
      description = "The account runs as many functions at once as it may. docs/operations.md, \"Throttled\""
      namespace   = "AWS/Lambda"
      metric      = "Throttles"
      dimensions  = {}
      statistic   = "Sum"
      threshold   = 1
    }
  }, local.fetch_alarms, local.more_alarms) : name => merge(local.usual_alarm, alarm) }

  fetch_alarms = { for queue in aws_sqs_queue.fetch_dead_letters : "fetch-dead-letters" => {
    description = "A package could not be fetched for the mirror in three tries. docs/operations.md, \"Packages are not fetched\""
    namespace   = "AWS/SQS"
    metric      = "ApproximateNumberOfMessagesVisible"
    dimensions  = { QueueName = queue.name }
    statistic   = "Maximum"
    threshold   = 1
  } }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name          = "${var.bucket_name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  period              = each.value.period
  evaluation_periods  = each.value.evaluations
  threshold           = each.value.threshold
  comparison_operator = each.value.comparison
  treat_missing_data  = each.value.missing
  alarm_actions       = local.alarm_actions
  ok_actions          = local.alarm_actions
  tags                = local.tags
}

resource "aws_cloudwatch_dashboard" "registry" {
  dashboard_name = var.bucket_name
  dashboard_body = jsonencode({
    widgets = [
      {
        type = "metric", x = 0, y = 0, width = 12, height = 6
        properties = {
          title = "Requests", region = local.region, stat = "Sum", period = 300
          metrics = [
            ["AWS/ApiGateway", "Count", "ApiId", aws_apigatewayv2_api.registry.id],
            ["AWS/ApiGateway", "4xx", "ApiId", aws_apigatewayv2_api.registry.id],
            ["AWS/ApiGateway", "5xx", "ApiId", aws_apigatewayv2_api.registry.id],
          ]
        }
      },
      {
        type = "metric", x = 12, y = 0, width = 12, height = 6
        properties = {
          title = "Time to answer, ms", region = local.region, period = 300
          metrics = [
            ["AWS/ApiGateway", "Latency", "ApiId", aws_apigatewayv2_api.registry.id, { stat = "p50" }],
            ["AWS/ApiGateway", "Latency", "ApiId", aws_apigatewayv2_api.registry.id, { stat = "p99" }],
          ]
        }
      },
      {
        type = "metric", x = 0, y = 6, width = 12, height = 6
        properties = {
          title = "Uploads waiting, and dead letters", region = local.region, stat = "Maximum", period = 300
          metrics = [
            ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", aws_sqs_queue.uploads.name],
            ["AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "QueueName", aws_sqs_queue.uploads.name],
            ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", aws_sqs_queue.dead_letters.name],
          ]
        }
      },
      {
        type = "metric", x = 12, y = 6, width = 12, height = 6
        properties = {
          title = "Oldest upload, s", region = local.region, stat = "Maximum", period = 300
          metrics = [
            ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", aws_sqs_queue.uploads.name],
          ]
        }
      },
      {
        type = "metric", x = 0, y = 12, width = 12, height = 6
        properties = {
          title = "Errors", region = local.region, stat = "Sum", period = 300
          metrics = [
            for name in concat(["discovery", "versions", "download", "catalog", "publish", "login"], local.has_upstreams ? ["fetch"] : []) :
            ["AWS/Lambda", "Errors", "FunctionName", aws_lambda_function.this[name].function_name]
          ]
        }
      },
      {
        type = "metric", x = 12, y = 12, width = 12, height = 6
        properties = {
          title = "Read and write units", region = local.region, stat = "Sum", period = 300
          metrics = [
            ["AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", aws_dynamodb_table.catalog.name],
            ["AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", aws_dynamodb_table.catalog.name],
          ]
        }
      },
    ]
  })
}
