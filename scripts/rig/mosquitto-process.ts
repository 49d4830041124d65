import { existsSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { freePort } from '#shared/testing/free-port.ts'
import type { BenchProcess, Workbench } from './processes.ts'
import { mustReach } from './wait-until.ts'

const PROGRAMS = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/usr/bin/mosquitto']
const START_LIMIT_MS = 5000

export interface MosquittoProcess {
  process: BenchProcess
  port: number
}

export function findMosquitto(): string | undefined {
  return PROGRAMS.find((path) => existsSync(path))
}

/** Starts a Mosquitto without limits, with its state in `folder`, as Debian does. Resolves when it listens. */
export async function startMosquitto(bench: Workbench, program: string, folder: string): Promise<MosquittoProcess> {
  const port = await freePort()
  const settings = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    'persistence true',
    `persistence_location ${folder}/`,
    'autosave_interval 1800',
    'max_inflight_messages 0',
    'max_queued_messages 0',
    'log_dest none',
    // Started by root it would switch to a user that may not write the folder.
    ...(process.getuid?.() === 0 ? ['user root'] : []),
  ]
  const settingsFile = join(folder, 'mosquitto.conf')
  writeFileSync(settingsFile, `${settings.join('\n')}\n`)
  const started = bench.spawn('mosquitto', program, ['-c', settingsFile])
  await mustReach(() => accepts(port), START_LIMIT_MS, `mosquitto does not listen on ${port}`)
  return { process: started, port }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
