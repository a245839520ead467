module "network" {
  source = "../.."

  cidr  = "172.16.0.0/12"
  zones = ["a", "b"]
}

output "subnets" {
  value = module.network.subnets
}
