import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ConfigError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'

/** Advice for a service without root that needs a port below 1024. */
export const PORT_OF_ROOT =
  'grant the service the capability: systemctl edit cartbarn, [Service], AmbientCapabilities=CAP_NET_BIND_SERVICE and '

/**
 * Wraps a listener so that its errors help the operator: they name the settings of port and address, and the program
 * that uses the port if the system files below `root` reveal it.
 */
export function withPortFaults(part: Component, portSetting: string, hostSetting: string, root = '/'): Component {
  return {
    start: async () => {
      try {
        await part.start()
      } catch (error) {
        throw inWords(error, portSetting, hostSetting, root)
      }
    },
    stop: () => part.stop(),
  }
}

function inWords(error: unknown, portSetting: string, hostSetting: string, root: string): unknown {
  if (!(error instanceof Error && 'code' in error && 'port' in error)) return error
  const { code, port } = error
  const faults: Record<string, () => string> = {
    EADDRINUSE: () => `port ${port} is taken by ${holderOf(Number(port), root)} set ${portSetting} to another port`,
    EACCES: () => `port ${port} is for root only: set ${portSetting} to another port, or ${PORT_OF_ROOT}`,
    EADDRNOTAVAIL: () => `this computer does not have the address that ${hostSetting} names`,
  }
  const words = faults[String(code)]?.()
  if (words === undefined) return error
  // another program may exit and an address may appear, but a port below 1024 stays privileged
  const Fault = code === 'EACCES' ? ConfigError : Error
  return Object.assign(new Fault(words, { cause: error }), { code })
}

/** Describes the program that uses a port, and the remedy. */
function holderOf(port: number, root: string): string {
  const holder = portOwner(port, root)
  const self = attempt(() => readlinkSync(join(root, 'proc/self')))
  if (holder?.pid !== undefined && String(holder.pid) === self) return 'this program itself, for another setting:'
  return `${holder?.words ?? 'another program'}: stop that, or`
}

/** Describes the listener on a port, with its process id if readable; undefined if free or not on Linux. */
export function portOwner(port: number, root = '/'): { pid: number | undefined; words: string } | undefined {
  const listener = attempt(() => listenerOn(port, root))
  if (listener === undefined) return undefined
  const pid = attempt(() => processWith(listener.inode, root))
  const program = pid && attempt(() => programOf(pid, root))
  if (program) return { pid, words: `${program} (process ${pid})` }
  const user = attempt(() => userName(listener.userId, root))
  return { pid, words: user === undefined ? 'another program' : `a program of the user ${user}` }
}

/** Finds the socket that listens on a port. Source: proc_net_tcp.rst of Linux; 0A is TCP_LISTEN. */
function listenerOn(port: number, root: string): { userId: string; inode: string } | undefined {
  for (const file of ['tcp', 'tcp6']) {
    for (const line of attempt(() => readFileSync(join(root, 'proc/net', file), 'utf8').split('\n')) ?? []) {
      const [, local = '', , state, , , , userId = '', , inode = ''] = line.trim().split(/\s+/)
      if (state === '0A' && Number.parseInt(local.split(':').at(-1) ?? '', 16) === port) return { userId, inode }
    }
  }
  return undefined
}

/** Returns the first readable process that has the socket open. */
function processWith(inode: string, root: string): number | undefined {
  const pids = readdirSync(join(root, 'proc')).map(Number).filter(Number.isInteger)
  return pids
    .sort((a, b) => a - b)
    .find((pid) => {
      const folder = join(root, 'proc', String(pid), 'fd')
      const files = attempt(() => readdirSync(folder)) ?? []
      return files.some((file) => attempt(() => readlinkSync(join(folder, file))) === `socket:[${inode}]`)
    })
}

/** Name of a program without its arguments, which may contain a secret. */
function programOf(pid: number, root: string): string {
  const [command = ''] = readFileSync(join(root, 'proc', String(pid), 'cmdline'), 'utf8').split('\0')
  return basename(command.split(' ')[0] ?? '').replace(/:$/, '')
}

function userName(userId: string, root: string): string | undefined {
  const lines = readFileSync(join(root, 'etc/passwd'), 'utf8').split('\n')
  return lines.map((line) => line.split(':')).find(([, , id]) => id === userId)?.[0]
}

/** Returns undefined on failure: other systems have no such files, and processes exit during the search. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
