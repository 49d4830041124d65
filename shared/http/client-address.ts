import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context, MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { plainAddress, remoteAddressOf } from '#shared/budgets/listen.ts'
import type { RequestEnv } from './api-env.ts'
import { ownOrigin } from './own-origin.ts'

/** Parses comma-separated addresses and networks, such as `127.0.0.1, 10.0.0.0/8, fd00::/8`; null if any is invalid. */
export function parseProxies(text: string): BlockList | null {
  const proxies = new BlockList()
  for (const word of text.split(',').map((part) => part.trim())) {
    const [address = '', bits] = word.split('/')
    const family = isIP(address)
    if (word === '') continue
    if (family === 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return null
    const width = family === 4 ? 32 : 128
    if (Number(bits ?? width) > width) return null
    proxies.addSubnet(address, Number(bits ?? width), family === 4 ? 'ipv4' : 'ipv6')
  }
  return proxies
}

export const proxiesSetting = z.string().transform((text, issues) => {
  const proxies = parseProxies(text)
  if (proxies !== null) return proxies
  issues.addIssue('must be addresses or networks, comma-separated')
  return z.NEVER
})

/**
 * Client addresses behind trusted proxies. Each proxy appends the address of its peer to `X-Forwarded-For`, so the last
 * address that is not a trusted proxy is the client's; everything before it can be forged.
 */
export class ClientAddresses {
  readonly #proxies: BlockList

  constructor(proxies: BlockList = new BlockList()) {
    this.#proxies = proxies
  }

  isProxy(address: string): boolean {
    const family = isIP(address)
    return family !== 0 && this.#proxies.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }

  of(socketAddress: string, forwardedFor: string | undefined): string {
    if (forwardedFor === undefined || !this.isProxy(socketAddress)) return socketAddress
    const named = forwardedFor.split(',').map((address) => plainAddress(address.trim()))
    const client = named.findLast((address) => !this.isProxy(address))
    // all of them are proxies, or a proxy has written an invalid address
    return client !== undefined && isIP(client) !== 0 ? client : socketAddress
  }

  ofRequest({ socket, headers }: IncomingMessage): string {
    return this.of(remoteAddressOf(socket), headers['x-forwarded-for']?.toString())
  }
}

/** Sets `c.var.address`, `unknown` for a test request without a socket, and `c.var.ownOrigin`. */
export function withAddress(addresses: ClientAddresses): MiddlewareHandler<RequestEnv> {
  return (c, next) => {
    const socket = socketAddress(c)
    c.set('address', addresses.of(socket, c.req.header('x-forwarded-for')))
    // lazy, because few requests need it
    c.set('ownOrigin', () => ownOrigin(addresses, { socketAddress: socket, ...addressedTo(c) }))
    return next()
  }
}

function addressedTo(c: Context): { isEncrypted: boolean; header: (name: string) => string | undefined } {
  const { protocol, host } = new URL(c.req.url)
  // a test request without a socket has its host in the URL
  const header = (name: string) => c.req.header(name) ?? (name === 'host' ? host : undefined)
  return { isEncrypted: protocol === 'https:', header }
}

function socketAddress(c: Context): string {
  return c.env !== undefined && 'incoming' in c.env
    ? plainAddress(getConnInfo(c).remote.address ?? 'unknown')
    : 'unknown'
}
