import { existsSync, readFileSync } from 'node:fs'
import type { AnnouncedService } from './mdns-services.ts'

/** Service file that the Debian package installs, and the socket of a running avahi. */
export const AVAHI = {
  servicePath: '/etc/avahi/services/cartbarn.service',
  socketPath: '/run/avahi-daemon/socket',
}

/** Returns the services avahi announces for the gateway, by its file; null if avahi is not running or has none. */
export function avahiServices({ servicePath, socketPath }: typeof AVAHI): AnnouncedService[] | null {
  if (!existsSync(socketPath) || !existsSync(servicePath)) return null
  const found = readFileSync(servicePath, 'utf8').matchAll(
    /<type>\s*_([a-z-]+)\._tcp\s*<\/type>\s*<port>\s*(\d+)\s*<\/port>/g,
  )
  return Array.from(found, ([, type = '', port]) => ({ type, port: Number(port) }))
}
