import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { createKeyPair } from './key-pairs.ts'

/** Programs documented on a page, by the name of the code block with their configuration. */
export type ProxyProgram = 'nginx' | 'caddy'

export function hasProxy(program: ProxyProgram): boolean {
  return spawnSync(program, ['-h']).error === undefined
}

/** Reverse proxy with a documented configuration, on free loopback ports. */
export class ReverseProxy {
  /** TLS port; tests must accept any certificate. */
  readonly port: number
  readonly #folder: string
  readonly #child: ChildProcess

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port
    this.#folder = folder
    this.#child = child
  }

  /**
   * `documented` is the configuration from a page. Ports, the site name, files and the address of the gateway
   * (127.0.0.1:8080 there, `target` here) are replaced.
   */
  static async start(program: ProxyProgram, documented: string, target: string): Promise<ReverseProxy> {
    const folder = mkdtempSync(join(tmpdir(), `cartbarn-${program}-`))
    const [port, plainPort] = [await freePort(), await freePort()]
    const given = documented.replaceAll('127.0.0.1:8080', target)
    const config = join(folder, 'config')
    const ports = { port, plainPort }
    writeFileSync(config, program === 'nginx' ? forNginx(given, folder, ports) : forCaddy(given, folder, ports))
    const argv = program === 'nginx' ? ['-c', config] : ['run', '--config', config, '--adapter', 'caddyfile']
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const child = spawn(program, argv, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let log = ''
    child.stderr.on('data', (chunk) => {
      log += chunk
    })
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`${program} ended: ${log}`)
      return hasCertificate(port)
    }, `${program} listens`)
    return new ReverseProxy(port, folder, child)
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    if (this.#child.exitCode === null) {
      this.#child.kill()
      await ended
    }
    rmSync(this.#folder, { recursive: true })
  }
}

interface Ports {
  port: number
  plainPort: number
}

/** A site is only a part of the configuration of nginx: the rest keeps its files in `folder`. */
function forNginx(site: string, folder: string, { port, plainPort }: Ports): string {
  const { cert, key } = createKeyPair()
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  const own = site
    .replace(/\/\S+\/fullchain\.pem/, join(folder, 'cert.pem'))
    .replace(/\/\S+\/privkey\.pem/, join(folder, 'key.pem'))
    .replaceAll('carts.example.club', 'localhost')
    .replaceAll(/listen (\[::\]:)?(80|443)\b/g, (_, isIpv6?: string, standard?: string) => {
      return `listen ${isIpv6 ? '[::1]' : '127.0.0.1'}:${standard === '443' ? port : plainPort}`
    })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => {
    mkdirSync(join(folder, kind))
    return `${kind}_temp_path ${join(folder, kind)};`
  })
  // a worker that runs as another user could not read the folder
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  return `${user} daemon off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')}
${own}
}`
}

function forCaddy(site: string, folder: string, { port, plainPort }: Ports): string {
  return `{
	admin off
	http_port ${plainPort}
	https_port ${port}
	default_bind 127.0.0.1
	local_certs
	skip_install_trust
	storage file_system ${folder}
}
${site.replaceAll('carts.example.club', 'localhost')}`
}

/** True once it responds with a certificate: caddy creates its own after it listens. */
async function hasCertificate(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
