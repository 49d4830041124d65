// The app at /app/, as far as the gateway is concerned: `scripts/setup-dashboard.mjs` builds gateway/dashboard,
// `built-files` reads what was built, once, `routes` sends it, and `pages` stands for it as long as there is none.

import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Folder } from '#shared/program-files.ts'
import { type BuiltFile, readBuiltFiles } from './built-files.ts'

/** The build that this gateway serves. */
export class Dashboard implements Pick<Component, 'start'> {
  readonly #folder: Folder
  readonly #log: Log
  #files: ReadonlyMap<string, BuiltFile> | undefined
  #said: string | undefined

  constructor(folder: Folder, log: Log) {
    this.#folder = folder
    this.#log = log
  }

  async start(): Promise<void> {
    if (this.files === undefined && this.#said === undefined)
      this.#log.info('there is no app at /app/: npm run build:app builds it')
  }

  /** By their names below /app/; undefined without a build. One that is made later is found at the next look. */
  get files(): ReadonlyMap<string, BuiltFile> | undefined {
    this.#files ??= this.#read()
    return this.#files
  }

  #read(): ReadonlyMap<string, BuiltFile> | undefined {
    try {
      return readBuiltFiles(this.#folder)
    } catch (error) {
      const reason = describeError(error)
      if (reason !== this.#said) this.#log.warn({ reason }, 'cannot serve the app: npm run build:app builds it anew')
      this.#said = reason
      return undefined
    }
  }
}
