import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

/** With the registry, or a name that others use is fetched from theirs. */
const BASE = 'localhost/cartbarn-base'
const TAG = 'localhost/cartbarn'

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

/** How containers of an image run unless somebody says otherwise. */
export type ImageConfig = z.infer<typeof inspectedSchema>['Docker']['config']

/** Whether this machine can build an image and run it. */
export function canRunImages(): boolean {
  return ['buildah', 'crun'].every((name) => spawnSync(name, ['--version']).status === 0)
}

/** The image that the Dockerfile of a folder makes, on a Debian that is a tar archive; all of it in a folder of its own. */
export class Image {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cartbarn-image-'))
  readonly config: ImageConfig
  /** Where its files are. */
  readonly root: string

  constructor(source: string, debian: string) {
    const base = this.#buildah('from', 'scratch')
    this.#buildah('add', base, debian, '/')
    this.#buildah('commit', base, BASE)
    this.#buildah('rm', base)
    const build = ['build', '--isolation=chroot', '--format=docker', `--build-arg=BASE=${BASE}`]
    this.#buildah(...build, '--pull=never', `--tag=${TAG}`, source)
    const inspected: unknown = JSON.parse(this.#buildah('inspect', '--type=image', TAG))
    this.config = inspectedSchema.parse(inspected).Docker.config
    this.root = this.#buildah('mount', this.#buildah('from', TAG))
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
