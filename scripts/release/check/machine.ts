import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '#shared/testing/eventually.ts'

/** Only the packages that are needed to boot: no Node, no curl, no sudo. */
const PACKAGES = 'systemd,systemd-sysv'
const START_MS = 60_000
const OUTSIDE_MS = 60_000

/** Returns a bare Debian, as a tar archive in `cache`; it is created once, which needs the network. */
export function bareDebian(suite: string, cache: string): string {
  const archive = join(cache, `${suite}.tar`)
  if (existsSync(archive)) return archive
  mkdirSync(cache, { recursive: true })
  const making = `${archive}.new.tar`
  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', `--include=${PACKAGES}`, suite, making], {
    stdio: 'inherit',
  })
  execFileSync('mv', [making, archive])
  return archive
}

export interface Outcome {
  code: number | null
  out: string
}

/** Clean Debian booted by systemd in its own namespaces, with its own network: the loopback. */
export class Machine {
  readonly root: string
  readonly #folder: string
  readonly #binds: readonly string[]
  #nspawn: ChildProcess | undefined
  #leader = ''

  /** `binds` are folders of the host that it sees, read-only, as `HERE:THERE`. */
  constructor(archive: string, binds: readonly string[] = []) {
    this.#folder = mkdtempSync(join(tmpdir(), 'cartbarn-machine-'))
    this.root = join(this.#folder, 'root')
    this.#binds = binds
    mkdirSync(this.root)
    execFileSync('tar', ['-xf', archive, '-C', this.root])
    writeFileSync(join(this.root, 'etc/machine-id'), '')
  }

  /** Boots it; resolves when systemd reports the end of the boot. */
  async start(): Promise<void> {
    // Debian 13 hangs with --console=pipe
    const options = ['--quiet', '--boot', '--register=no', '--keep-unit', '--private-network']
    const binds = this.#binds.map((path) => `--bind-ro=${path}`)
    this.#nspawn = spawn('systemd-nspawn', [...options, ...binds, `--directory=${this.root}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const { pid } = this.#nspawn
    await eventually(
      () => {
        this.#leader = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' }).stdout.trim()
        return this.#leader !== '' && this.run('systemctl is-system-running').out.match(/running|degraded/) !== null
      },
      'a booted machine',
      START_MS,
    )
  }

  /** Runs lines in it as root, as a user would type them. */
  run(script: string, timeoutMs = 120_000): Outcome {
    const inside = ['-t', this.#leader, '-m', '-u', '-i', '-n', '-p', '-r', '-w']
    const env = ['/usr/bin/env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'LANG=C.UTF-8']
    const { status, stdout, stderr } = spawnSync('nsenter', [...inside, ...env, 'bash', '-c', `cd /root; ${script}`], {
      encoding: 'utf8',
      timeout: timeoutMs,
    })
    return { code: status, out: `${stdout}${stderr}` }
  }

  /** Like `run`, for lines that must succeed; returns their output. */
  must(script: string, timeoutMs?: number): string {
    const { code, out } = this.run(script, timeoutMs)
    if (code !== 0) throw new Error(`${script}\nended with ${code}:\n${out}`)
    return out.trim()
  }

  /** Returns the page at a path of the gateway, or of a server on another port. */
  get(path: string, port = 8080, header = 'Accept: text/html'): string {
    // bash can open connections: a bare Debian has no curl
    const request =
      `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET ${path} HTTP/1.0\\r\\nHost: ` +
      `localhost\\r\\n${header}\\r\\n\\r\\n' >&3; cat <&3`
    return this.run(request, 10_000).out
  }

  /** Runs a program of this checkout in its network, as another host would; returns its output. */
  runOutside(program: string, ...args: string[]): string {
    return execFileSync('nsenter', ['-t', this.#leader, '-n', process.execPath, program, ...args], {
      encoding: 'utf8',
      timeout: OUTSIDE_MS,
    })
  }

  /** Adds a network in addition to the loopback, with this address and no other host. */
  connect(address: string): void {
    for (const line of [
      'link add lan type veth peer name others',
      `addr add ${address}/24 dev lan`,
      'link set others up',
      'link set lan up',
    ])
      execFileSync('nsenter', ['-t', this.#leader, '-n', 'ip', ...line.split(' ')])
  }

  file(path: string): string {
    return readFileSync(join(this.root, path), 'utf8')
  }

  /** Powers it off and deletes it. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#nspawn?.once('exit', resolve))
    if (this.#nspawn?.exitCode === null) {
      this.run('systemctl poweroff')
      const timer = setTimeout(() => this.#nspawn?.kill('SIGKILL'), 20_000)
      await ended
      clearTimeout(timer)
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
