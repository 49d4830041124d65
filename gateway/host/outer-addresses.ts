import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

/** Address of this host as seen from others. */
export interface OuterAddress {
  address: string
  /** Network interface, whose name a socket of IPv6 multicast needs. */
  name: string
  isIpv6: boolean
}

/** Network interfaces of the host, as listed by Node. */
export type Interfaces = Readonly<Partial<Record<string, readonly NetworkInterfaceInfo[]>>>

/**
 * Returns the addresses at which others reach a listener on `host`, IPv4 first, in a fixed order. Omits link-local IPv6
 * addresses, because browsers do not accept them.
 */
export function outerAddresses(host: string, interfaces: Interfaces = networkInterfaces()): OuterAddress[] {
  return Object.entries(interfaces)
    .flatMap(([name, found = []]) => found.map((one) => ({ ...one, name })))
    .filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
    .map(({ address, family, name }) => ({ address, name, isIpv6: family === 'IPv6' }))
    .filter(({ address, isIpv6 }) => host === '::' || host === address || (host === '0.0.0.0' && !isIpv6))
    .sort((a, b) => Number(a.isIpv6) - Number(b.isIpv6) || (a.address < b.address ? -1 : 1))
}
