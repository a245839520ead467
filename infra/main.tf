# Larder on AWS: the same system as template.yaml in the folder above. A test reads both and fails where
# they differ.
#
# Everything is named after the bucket. The policies of bucket and key know the role of publish by its
# name, so that neither needs the other to exist first.

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.region

  bucket_arn       = "arn:${local.partition}:s3:::${var.bucket_name}"
  publish_role_arn = "arn:${local.partition}:iam::${local.account}:role/${var.bucket_name}-publish"

  inbox           = ["keys/", "modules/", "providers/", "mirror/"]
  has_domain      = var.domain_name != ""
  has_record      = var.create_record == null ? local.has_domain && var.hosted_zone_id != "" : var.create_record
  has_uploader    = var.create_uploader_policy == null ? var.uploader_namespace != "" : var.create_uploader_policy
  has_upstreams   = var.mirror_upstreams != ""
  signing_key_arn = var.signing_key_arn == "" ? aws_kms_key.signing.arn : var.signing_key_arn
  alarm_actions   = var.alarm_topic_arn == "" ? [] : [var.alarm_topic_arn]
  tags            = merge({ application = "larder" }, var.tags)
}
