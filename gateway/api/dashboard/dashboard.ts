// Server side of the app at /app/: `scripts/setup-dashboard.mjs` builds gateway/dashboard, `built-files` reads the
// build once, and `routes` sends it, or a plain page if there was never a build.

import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Folder } from '#shared/program-files.ts'
import { type BuiltFile, readBuiltFiles } from './built-files.ts'

/** Build that this gateway serves. */
export class Dashboard implements Pick<Component, 'start'> {
  readonly #folder: Folder
  readonly #log: Log
  #files: ReadonlyMap<string, BuiltFile> | undefined
  #loggedReason: string | undefined

  constructor(folder: Folder, log: Log) {
    this.#folder = folder
    this.#log = log
  }

  async start(): Promise<void> {
    if (this.files === undefined && this.#loggedReason === undefined)
      this.#log.info('no app at /app/; build it with npm run build:app')
  }

  /** Files keyed by name below /app/; undefined without a build. A later build is found on the next read. */
  get files(): ReadonlyMap<string, BuiltFile> | undefined {
    this.#files ??= this.#read()
    return this.#files
  }

  #read(): ReadonlyMap<string, BuiltFile> | undefined {
    try {
      return readBuiltFiles(this.#folder)
    } catch (error) {
      const reason = describeError(error)
      if (reason !== this.#loggedReason)
        this.#log.warn({ reason }, 'cannot serve the app; rebuild it with npm run build:app')
      this.#loggedReason = reason
      return undefined
    }
  }
}
