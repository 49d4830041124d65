import { isIPv6 } from 'node:net'
import { plainAddress } from './listen.ts'

/**
 * Who stands behind a network address, as limits count: an IPv4 address, also one written as IPv6 (RFC 4291 2.5.5.2);
 * of IPv6 the first 64 bits, which one household or one phone has to itself (RFC 6177, RFC 7421).
 */
export function addressOwner(address: string): string {
  const plain = plainAddress(address)
  const [bare = ''] = plain.split('%')
  if (!isIPv6(bare)) return plain
  const [left = '', right] = bare.split('::')
  const before = left === '' ? [] : left.split(':')
  const after = right === undefined || right === '' ? [] : right.split(':')
  const zeros = right === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  const groups = [...before, ...zeros, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${groups.join(':')}::/64`
}
