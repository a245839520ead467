locals {
  tiers = sort(tolist(var.tiers))
  names = [for pair in setproduct(local.tiers, var.zones) : join("-", pair)]
}

module "subnets" {
  source = "./modules/subnets"

  cidr  = var.cidr
  names = local.names
}
