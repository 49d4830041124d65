import { isIPv6 } from 'node:net'
import { plainAddress } from './listen.ts'

/**
 * Returns the budget key of a network address: an IPv4 address, including one mapped into IPv6 (RFC 4291 2.5.5.2), or
 * the first 64 bits of an IPv6 address, which belong to one household or one phone (RFC 6177, RFC 7421).
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
