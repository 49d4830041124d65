import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#shared/errors.ts'
import { BackgroundRepair } from '../damage/background-repair.ts'
import type { TimedActor } from '../db/audit.ts'
import { describeFault, isDamage, isWrongSum, storeFaultCode } from '../db/fault.ts'
import { faultOrUnreadableDisk } from '../db/readable-disk.ts'
import { insertAuditEntry } from '../tables/audit-log.ts'
import { detachBlocks } from '../telemetry/detached-blocks.ts'
import type { WriterTables } from '../telemetry/log-tail.ts'
import { type ImportInput, SAMPLE_NUMBERS } from '../telemetry/store-samples.ts'
import { append } from './append.ts'
import { WriterConnection } from './connection.ts'
import { FreeSpace } from './free-space.ts'
import type { WriterAnswer, WriterReport, WriterRequest } from './messages.ts'
import { openWriter } from './open.ts'
import { type WriteName, writeOf } from './writes.ts'

// The thread that writes: one request, one transaction, one response.

// no schema library here: every thread would load a copy of its own
const { path, inode }: { path: string; inode: bigint } = workerData
const connection = new WriterConnection(path, inode)
const freeSpace = new FreeSpace(connection)
const backgroundRepair = new BackgroundRepair({ path, openWriter })

/** Delay between a write and the search for free space. */
const TIDY_MS = 1000
/** Pause after a failure, before the next write triggers it again: other work on the faulty disk comes first. */
const TIDY_RETRY_MS = 60_000

/** Delay between the first change of a state and saving; also saved after this many samples. */
const SAVE_STATES_MS = 60_000
const SAVE_STATES_SAMPLES = 32_768

let failedRun = -1
let hasQuarantined = false
let tidyTimer: NodeJS.Timeout | undefined
let saveStatesTimer: NodeJS.Timeout | undefined
let unsavedSamples = 0

// state changes in the log of the previous run
saveStatesLater()

function perform(request: WriterRequest): WriterAnswer {
  switch (request.kind) {
    case 'append':
      if (request.run === failedRun) return { kind: 'skipped' }
      return connection.transaction((writing) => ({
        kind: 'appended',
        result: append(writing, request.batch),
      }))
    case 'write':
      return performWritten(request)
    case 'probe':
      connection.probe()
      return { kind: 'written', result: null }
    case 'mend':
      repair(request.fault)
      return { kind: 'written', result: null }
    case 'truncate':
      return { kind: 'written', result: connection.truncateLog() }
    case 'checkpoint':
      connection.finish()
      return { kind: 'written', result: null }
  }
}

type WriteRequest = Extract<WriterRequest, { kind: 'write' }>

/** Writes that change blocks. */
const BLOCK_WRITES: ReadonlySet<WriteName> = new Set([
  'replaceBlocks',
  'quarantineBlocks',
  'deleteSentBlocks',
  'purgeTelemetryStep',
  'deleteDeviceTelemetryStep',
  'deleteTelemetryStep',
])

/** Repeats a write of blocks that still meets damage, on an empty table of blocks. */
function performRoundDamage(request: WriterRequest, damage: unknown): WriterAnswer {
  // only once: further damage is not that of the blocks
  if (request.kind !== 'write' || !BLOCK_WRITES.has(request.name) || hasQuarantined) throw damage
  hasQuarantined = true
  connection.withoutChecks(() => connection.transaction(detachBlocks))
  return perform(request)
}

/** Retries a write of telemetry without page checksums, because its content has checksums of its own. */
function performWritten(request: WriteRequest): WriterAnswer {
  const run = () =>
    connection.transaction((writing): WriterAnswer => ({ kind: 'written', result: performBoth(writing, request) }))
  try {
    return run()
  } catch (error) {
    if (!isWrongSum(storeFaultCode(error)) || writeOf(request.name).changesTelemetry !== true) throw error
    return connection.withoutChecks(run)
  }
}

function performBoth(writing: WriterTables, { name, input, also, origin }: WriteRequest): unknown {
  if (also !== undefined) performWrite(writing, also.name, also.input, origin)
  return performWrite(writing, name, input, origin)
}

function report(message: WriterReport): void {
  parentPort?.postMessage(message)
}

/** Repeats a request after a damaged table was recreated or detached. */
function performMending(request: WriterRequest): WriterAnswer {
  try {
    return perform(request)
  } catch (error) {
    if (!isDamage(storeFaultCode(error))) throw error
    if (!repair(describeFault(error))) return performRoundDamage(request, error)
  }
  return perform(request)
}

function repair(fault: string): boolean {
  // its prepared statements refer to the tables before the repair
  connection.close()
  const found = backgroundRepair.repair(fault)
  if (found.length > 0) report({ kind: 'damage_found', found, faultCode: null })
  return found.some(({ outcome }) => outcome !== 'unreadable')
}

/** False if damage blocks every write. */
function canWrite(): boolean {
  try {
    connection.probe()
    return true
  } catch {
    return false
  }
}

function failureOf(error: unknown): WriterAnswer {
  if (error instanceof AppError)
    return { kind: 'refused', error: { kind: error.kind, code: error.code, message: error.message } }
  const code = storeFaultCode(error)
  const isPartial = isDamage(code) && canWrite()
  const message = describeFault(error)
  return { kind: 'failed', message, isStoreFault: code !== null && !isPartial, isDamage: isPartial }
}

function faultOf(error: unknown): { message: string; faultCode: string | null } {
  const fault = faultOrUnreadableDisk(error, path)
  return { message: describeFault(fault), faultCode: storeFaultCode(fault) }
}

function checkpointIfDue(): void {
  try {
    connection.checkpointIfDue()
  } catch (error) {
    report({ kind: 'checkpoint_failed', ...faultOf(error) })
  }
}

function tidyUp(): void {
  tidyTimer = undefined
  try {
    const found = connection.repairPages()
    if (found.length > 0) report({ kind: 'damage_found', found, faultCode: null })
    const pauseMs = freeSpace.step()
    if (pauseMs !== null) tidyTimer = setTimeout(tidyUp, pauseMs)
  } catch (error) {
    report({ kind: 'giving_back_failed', ...faultOf(error) })
    tidyTimer = setTimeout(() => {
      tidyTimer = undefined
    }, TIDY_RETRY_MS)
  }
  checkpointIfDue()
}

function saveStatesLater(): void {
  saveStatesTimer ??= setTimeout(saveStates, SAVE_STATES_MS)
}

function saveStates(): void {
  clearTimeout(saveStatesTimer)
  saveStatesTimer = undefined
  unsavedSamples = 0
  try {
    connection.saveStates()
  } catch (error) {
    report({ kind: 'saving_failed', ...faultOf(error) })
    saveStatesLater()
  }
}

function saveStatesIfDue(request: WriterRequest): void {
  const numbers = numbersIn(request)
  if (numbers === null) return
  saveStatesLater()
  unsavedSamples += numbers / SAMPLE_NUMBERS
  if (unsavedSamples >= SAVE_STATES_SAMPLES) saveStates()
}

/** Count of numbers in the samples that a request adds to the log; null if it adds nothing. */
function numbersIn(request: WriterRequest): number | null {
  if (request.kind === 'append') return request.batch.samples.length
  if (request.kind !== 'write' || request.name !== 'importTelemetry') return null
  // the name determines the type of the input
  return (request.input as ImportInput).samples.length
}

parentPort?.on('message', (request: WriterRequest) => {
  const startedAtMs = performance.now()
  try {
    const answer = performMending(request)
    report({ kind: 'answer', answer, tookMs: performance.now() - startedAtMs, faultCode: null })
  } catch (error) {
    if (request.kind === 'append') failedRun = request.run
    const tookMs = performance.now() - startedAtMs
    report({ kind: 'answer', answer: failureOf(error), tookMs, faultCode: storeFaultCode(error) })
  }
  // without a waiting caller: earlier requests are on the disk and answered
  saveStatesIfDue(request)
  checkpointIfDue()
  if (tidyTimer === undefined) tidyTimer = setTimeout(tidyUp, TIDY_MS)
})

/** Performs a write for `origin` and enters it in the audit log; the caller holds the transaction. */
function performWrite(connection: WriterTables, name: WriteName, input: unknown, origin: TimedActor): unknown {
  const write = writeOf(name)
  const endAudit = write.audit?.(connection, input, origin)
  const result = write(connection, input)
  for (const record of endAudit?.(result) ?? []) insertAuditEntry(connection, origin, record)
  return result
}
