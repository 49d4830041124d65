import { existsSync, readFileSync } from 'node:fs'
import type { AnnouncedService } from './mdns-services.ts'

/** The file that the package for Debian puts there, and where avahi listens when it runs. */
export const AVAHI = {
  servicePath: '/etc/avahi/services/cartbarn.service',
  socketPath: '/run/avahi-daemon/socket',
}

/** What avahi announces of the gateway, as its file says; null where avahi does not run or has no such file. */
export function avahiServices({ servicePath, socketPath }: typeof AVAHI): AnnouncedService[] | null {
  if (!existsSync(socketPath) || !existsSync(servicePath)) return null
  const found = readFileSync(servicePath, 'utf8').matchAll(
    /<type>\s*_([a-z-]+)\._tcp\s*<\/type>\s*<port>\s*(\d+)\s*<\/port>/g,
  )
  return Array.from(found, ([, type = '', port]) => ({ type, port: Number(port) }))
}
