import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

/** An address at which others reach this machine. */
export interface OuterAddress {
  address: string
  /** A network interface, whose name a socket of IPv6 multicast needs. */
  name: string
  isIpv6: boolean
}

/** Network interfaces of the machine, as Node lists them. */
export type Interfaces = Readonly<Partial<Record<string, readonly NetworkInterfaceInfo[]>>>

/**
 * The addresses at which others reach what listens on `host`, those of IPv4 first, in a fixed order. Addresses of IPv6
 * that hold on one link only are left out: browsers do not take them.
 */
export function outerAddresses(host: string, interfaces: Interfaces = networkInterfaces()): OuterAddress[] {
  return Object.entries(interfaces)
    .flatMap(([name, found = []]) => found.map((one) => ({ ...one, name })))
    .filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
    .map(({ address, family, name }) => ({ address, name, isIpv6: family === 'IPv6' }))
    .filter(({ address, isIpv6 }) => host === '::' || host === address || (host === '0.0.0.0' && !isIpv6))
    .sort((a, b) => Number(a.isIpv6) - Number(b.isIpv6) || (a.address < b.address ? -1 : 1))
}
