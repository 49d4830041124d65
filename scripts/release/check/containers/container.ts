import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { eventually } from '#shared/testing/eventually.ts'
import type { Outcome } from '../machine.ts'
import type { Service } from './compose.ts'
import type { Image } from './image.ts'

const START_MS = 60_000
const END_MS = 40_000
const NAME = 'it'
/** Options that Docker uses for these mounts. */
const SMALL = ['nosuid', 'nodev', 'noexec', 'size=64m']

/** Volume, with the owner that Docker sets for an image. */
export class Volume {
  readonly path = mkdtempSync(join(tmpdir(), 'cartbarn-volume-'))

  constructor({ config }: Image) {
    const [uid, gid] = config.User.split(':').map(Number)
    chownSync(this.path, uid ?? 0, gid ?? 0)
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Container of an image, run by crun like its service in a compose file, with its own network: the loopback. */
export class Container {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cartbarn-container-'))
  readonly #process: ChildProcess
  readonly #ended: Promise<number | null>
  log = ''

  /** Starts it; `words` replace those of the service, `env` extends its environment. */
  constructor(image: Image, service: Service, volume: Volume, env: Record<string, string>, words?: string[]) {
    const bundle = join(this.#folder, 'bundle')
    mkdirSync(bundle)
    writeFileSync(join(bundle, 'config.json'), JSON.stringify(runtimeConfig(image, service, volume, env, words)))
    this.#process = spawn(...this.#crun('run', `--bundle=${bundle}`, NAME), {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.log += chunk.toString()
      })
    this.#ended = once(this.#process, 'close').then(([code]) => code)
  }

  /** Resolves when its program is listening. */
  async listens(): Promise<void> {
    await eventually(
      () => this.log.includes('"msg":"listening"') || this.#process.exitCode !== null,
      'listening',
      START_MS,
    )
    if (this.#process.exitCode !== null) throw new Error(this.log)
  }

  /** Runs a program in the container. */
  async exec(words: readonly string[], user = '1000:1000'): Promise<Outcome> {
    const child = spawn(...this.#crun('exec', `--user=${user}`, NAME, ...words), {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code, out: `${out}${err}` }
  }

  /** Returns the response to a request to a port in the container. */
  async get(path: string, port: number, key: string): Promise<string> {
    // bash can open connections: the image has no curl
    const lines = `GET ${path} HTTP/1.0\\r\\nHost: localhost\\r\\nX-API-Key: ${key}\\r\\n\\r\\n`
    const request = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf '${lines}' >&3; cat <&3`
    return (await this.exec(['bash', '-c', request])).out
  }

  /** Sends a signal to its process 1. */
  signal(name: 'TERM' | 'KILL'): void {
    const [command, words] = this.#crun('kill', NAME, name)
    spawnSync(command, words)
  }

  /** Resolves with the exit code. */
  async ended(): Promise<number | null> {
    const timer = setTimeout(() => this.signal('KILL'), END_MS)
    const code = await this.#ended
    clearTimeout(timer)
    return code
  }

  async remove(): Promise<void> {
    if (this.#process.exitCode === null) {
      this.signal('KILL')
      await this.#ended
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #crun(...words: string[]): [string, string[]] {
    // crun supports no machine with both kinds of control groups: only one is visible to it
    const script = 'umount /sys/fs/cgroup/unified 2> /dev/null; exec crun "$@"'
    const state = [`--root=${join(this.#folder, 'state')}`, '--cgroup-manager=disabled']
    return ['unshare', ['--mount', 'sh', '-c', script, 'sh', ...state, ...words]]
  }
}

/** Returns the configuration of the runtime, according to the OCI specification. */
function runtimeConfig(
  { config, root }: Image,
  service: Service,
  volume: Volume,
  env: Record<string, string>,
  words: readonly string[] = service.command ?? config.Cmd,
) {
  const [uid, gid] = config.User.split(':').map(Number)
  if (service.cap_drop.join() !== 'ALL') throw new Error('a container with capabilities is not provided for')
  const mounted = (destination: string, options: readonly string[]) => {
    return { destination, type: 'tmpfs', source: 'tmpfs', options }
  }
  const given = Object.entries({ ...service.environment, ...env })
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid, gid },
      args: [...config.Entrypoint, ...words],
      env: [...config.Env, ...given.map(([name, value]) => `${name}=${value}`)],
      cwd: config.WorkingDir,
      capabilities: {},
      noNewPrivileges: service.security_opt.includes('no-new-privileges:true'),
    },
    root: { path: root, readonly: service.read_only },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      mounted('/dev', ['nosuid', 'mode=755', 'size=64m']),
      mounted('/dev/shm', [...SMALL, 'mode=1777']),
      ...service.tmpfs.map((path) => mounted(path, [...SMALL, 'mode=1777'])),
      {
        destination: '/data',
        type: 'bind',
        source: volume.path,
        options: ['rbind', 'rw', 'nosuid', 'nodev'],
      },
    ],
    linux: { namespaces: ['pid', 'ipc', 'uts', 'mount', 'network'].map((type) => ({ type })) },
  }
}
