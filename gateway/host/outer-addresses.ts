import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

export interface OuterAddress {
  address: string
  /** Network interface, whose name a socket of IPv6 multicast needs. */
  name: string
  isIpv6: boolean
}

export type Interfaces = Readonly<Partial<Record<string, readonly NetworkInterfaceInfo[]>>>

/** Addresses at which others reach a listener on `host`, IPv4 first, sorted; no link-local IPv6: browsers reject it. */
export function outerAddresses(host: string, interfaces: Interfaces = networkInterfaces()): OuterAddress[] {
  return Object.entries(interfaces)
    .flatMap(([name, found = []]) => found.map((one) => ({ ...one, name })))
    .filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
    .map(({ address, family, name }) => ({ address, name, isIpv6: family === 'IPv6' }))
    .filter(({ address, isIpv6 }) => host === '::' || host === address || (host === '0.0.0.0' && !isIpv6))
    .sort((a, b) => Number(a.isIpv6) - Number(b.isIpv6) || (a.address < b.address ? -1 : 1))
}
