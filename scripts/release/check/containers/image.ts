import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'

/** With the registry: a name without one would be fetched from a public registry. */
const BASE = 'localhost/cartbarn-base'
const BUILDER = 'localhost/cartbarn-builder'
const TAG = 'localhost/cartbarn'

const NPM = dirname(dirname(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())))
const { NODE_EXTRA_CA_CERTS: AUTHORITIES = '' } = process.env
/** Files in the Node image of Docker Hub, and the certificate authorities that npm trusts here. */
const NODE_FILES = {
  [process.execPath]: '/usr/local/bin/node',
  // the path where npm searches for its files, next to the Node executable
  [NPM]: '/usr/local/bin/node_modules/npm',
  ...(AUTHORITIES === '' ? {} : { [AUTHORITIES]: '/etc/authorities.crt' }),
}
const NODE_SETTINGS = ['--env=PATH=/usr/local/bin/node_modules/npm/bin:/usr/local/bin:/usr/bin:/bin'].concat(
  AUTHORITIES === '' ? [] : '--env=NODE_EXTRA_CA_CERTS=/etc/authorities.crt',
)

const inspectedSchema = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      Env: z.array(z.string()),
      WorkingDir: z.string(),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
      Volumes: z.record(z.string(), z.unknown()),
      Healthcheck: z.object({ Test: z.array(z.string()) }),
    }),
  }),
})

/** Default configuration of containers of an image. */
export type ImageConfig = z.infer<typeof inspectedSchema>['Docker']['config']

/** True if this machine can build an image and run it. */
export function canRunImages(): boolean {
  return ['buildah', 'crun'].every((name) => spawnSync(name, ['--version']).status === 0)
}

/**
 * Image built from the Dockerfile of a folder, on a Debian given as a tar archive; all its data is in one folder. With
 * `release`, a folder below `source`, it contains the executable in it; otherwise it is built from the sources, by the
 * Node and npm of this machine on the same Debian.
 */
export class Image {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cartbarn-image-'))
  readonly config: ImageConfig
  /** Folder of its files. */
  readonly root: string

  constructor(source: string, debian: string, release?: string) {
    this.#commit(BASE, 'scratch', { [debian]: '/' })
    if (release === undefined) this.#commit(BUILDER, BASE, NODE_FILES, NODE_SETTINGS)
    const values = release === undefined ? { BASE, BUILDER } : { BASE, RELEASE: release }
    const build = ['build', '--isolation=chroot', '--format=docker', '--pull=never', `--tag=${TAG}`]
    const settings = Object.entries(values).map(([name, value]) => `--build-arg=${name}=${value}`)
    this.#buildah(...build, ...settings, source)
    const inspected: unknown = JSON.parse(this.#buildah('inspect', '--type=image', TAG))
    this.config = inspectedSchema.parse(inspected).Docker.config
    this.root = this.#buildah('mount', this.#buildah('from', TAG))
  }

  /** Creates an image from another one and files, as `HERE: THERE`. */
  #commit(name: string, from: string, files: Readonly<Record<string, string>>, settings: string[] = []): void {
    const container = this.#buildah('from', from)
    for (const [here, there] of Object.entries(files)) this.#buildah('add', container, here, there)
    if (settings.length > 0) this.#buildah('config', ...settings, container)
    this.#buildah('commit', container, name)
    this.#buildah('rm', container)
  }

  #buildah(...words: string[]): string {
    const storage = [`--root=${join(this.#folder, 'storage')}`, `--runroot=${join(this.#folder, 'run')}`]
    // no other driver works on every file system
    return execFileSync('buildah', [...storage, '--storage-driver=vfs', ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim()
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
