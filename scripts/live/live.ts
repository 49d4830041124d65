// npm run live: days and months of a course in virtual time, and checks of the responses of its gateway.
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { InvalidArgumentError } from '@commander-js/extra-typings'
import { createCommandLine, parseCommandLine, wholeNumber } from '#scripts/cli/command-line.ts'
import { BREAKS } from './breaks.ts'
import { drawPlan } from './draw-plan.ts'
import { HUBS, MOODS, type Plan } from './plan.ts'
import { type PlanOrSeed, type Report, RunError, type RunOptions, runPlan, virtualTime } from './run-plan.ts'
import { shrink } from './shrink.ts'

const HOUR_MS = 3_600_000
const SHRINK_MS = 30 * 60_000
const SHOWN_WRONG = 5

type Options = ReturnType<typeof parseOptions>

function oneOf<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const name = names.find((one) => one === text)
    if (name === undefined) throw new InvalidArgumentError(`It must be one of ${names.join(', ')}.`)
    return name
  }
}

function dateOf(text: string): string {
  const atMs = Date.parse(`${text}T00:00:00Z`)
  if (/^\d{4}-\d\d-\d\d$/.test(text) && new Date(atMs).toISOString().startsWith(text)) return text
  throw new InvalidArgumentError('It must be a date such as 2026-10-24.')
}

/** Parses a virtual time such as `3d04:12:07` into ms since the start of the run. */
function untilOf(text: string): number {
  const match = /^(?:(\d+)d)?(\d\d):(\d\d)(?::(\d\d))?$/.exec(text)
  if (match === null) throw new InvalidArgumentError('It must be a virtual time such as 3d04:12:07.')
  const [, days = '0', hours = '0', minutes = '0', seconds = '0'] = match
  return (((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
}

function parseOptions(argv: readonly string[]) {
  const command = createCommandLine('live', process)
    .description('Runs a gateway through days of virtual time; the exit code is 1 if a response is wrong.')
    .option('--days <n>', 'local days', wholeNumber(1, 400), 1)
    .option('--carts <n>', 'carts', wholeNumber(1, 500), 12)
    .option('--seed <n>', 'seed of everything that happens by chance', wholeNumber(0), 1)
    .option('--mood <mood>', `what breaks: ${MOODS.join(', ')}`, oneOf(MOODS), 'ordinary')
    .option('--hub <kind>', `head office: ${HUBS.join(', ')}`, oneOf(HUBS), 'none')
    .option('--start <date>', 'first local day', dateOf, '2026-05-01')
    .option('--replay <plan>', 'the run of a seed again, or of the file of a shrunk plan')
    .option('--until <time>', 'stops at that virtual time, such as 3d04:12:07', untilOf)
    .option('--trace <file>', 'writes all bytes on all lines, and the log')
    .option('--twice', 'runs twice; both must have the same trace')
    .option('--until-failure', 'new seeds, from --seed on, until one fails, which is then shrunk')
    .option('--jobs <n>', 'runs at the same time', wholeNumber(1, 64), availableParallelism())
    .option('--hours <n>', 'hours that --until-failure lasts', wholeNumber(1, 1_000), 8)
    .option('--prove [check]', 'breaks the product at the place of each check, and prints which check finds it when')
    .option('--json', 'prints each result as JSON')
  return parseCommandLine(command, argv).opts()
}

/** The plan of the options; entries only of a plan from a file. */
function planOf({ replay, seed, days, carts, mood, hub, start }: Options): PlanOrSeed {
  const drawn = { seed, days, carts, mood, hub, start }
  if (replay === undefined) return drawn
  if (/^\d+$/.test(replay)) return { ...drawn, seed: Number(replay) }
  return JSON.parse(readFileSync(replay, 'utf8'))
}

function printReport(plan: PlanOrSeed, report: Report, asJson?: true): void {
  if (asJson) {
    print(JSON.stringify({ seed: plan.seed, ...report }))
    return
  }
  const { wrong, deeds, starts, looks, times, trace, checks, startMs } = report
  for (const { check, atMs, subject = 'gateway', is, expected } of wrong.slice(0, SHOWN_WRONG))
    print(`check ${check}, ${virtualTime(atMs - startMs)}, ${subject}: ${is}\n  expected: ${expected}`)
  for (const { atMs, ...deed } of deeds) print(`  ${virtualTime(atMs - startMs)} ${JSON.stringify(deed)}`)
  const { seed, days, carts } = plan
  const head = `live: seed ${seed}, ${days} days, ${carts} carts, ${times} times, ${starts - 1} restarts`
  print(`${head}, ${looks} looks, ${checks} checks, ${wrong.length} wrong, trace ${trace.slice(0, 16)}`)
  if (report.isPartial) print(`interrupted at ${virtualTime(report.endMs - startMs)}`)
  if (wrong.length > 0 || report.isPartial) print(`again: ${commandOf(plan)}`)
}

function commandOf({ seed, days, carts, mood, hub, start }: PlanOrSeed): string {
  const plan = `--days ${days} --carts ${carts} --mood ${mood} --hub ${hub} --start ${start}`
  return `npm run live -- ${plan} --replay ${seed}`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Breaks the product once for each check; false if one is not found by its check. */
async function prove(check: number | undefined, { seed, jobs }: Options): Promise<boolean> {
  const breaks = BREAKS.filter((one) => check === undefined || one.check === check)
  let allFound = breaks.length > 0
  await inParallel(
    jobs,
    breaks.values(),
    async ({ check: only, how, days = 1, mood = 'quiet', start = '2026-05-01', seed: own = seed, hub, ...edit }) => {
      const plan = { seed: own, days, carts: 12, mood, start, ...(hub === undefined ? {} : { hub }) }
      const { wrong, startMs } = await runPlan({ plan, edits: [edit], only })
      const [found] = wrong
      allFound &&= found !== undefined
      print(`${only}\t${how}\t${found === undefined ? 'not found' : virtualTime(found.atMs - startMs)}`)
    },
  )
  return allFound
}

async function inParallel<Item>(jobs: number, items: Iterator<Item>, work: (item: Item) => Promise<void>) {
  const worker = async () => {
    for (let next = items.next(); !next.done; next = items.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}

/** Runs new seeds until one is wrong or the hours are over; returns the exit code. */
async function untilFailure(options: Options): Promise<number> {
  const endMs = Date.now() + options.hours * HOUR_MS
  let code = 0
  let runs = 0
  let livedMs = 0
  function* seeds() {
    for (let seed = options.seed; code === 0 && Date.now() < endMs; seed++) yield seed
  }
  await inParallel(options.jobs, seeds(), async (seed) => {
    const plan = planOf({ ...options, seed })
    try {
      const report = await runPlan({ plan })
      printReport(plan, report, options.json)
      runs += 1
      livedMs += report.endMs - report.startMs
      if (report.isPartial) code ||= 2
      if (report.wrong.length === 0 || code !== 0) return
      code = 1
      await shrinkAndSave(plan, report)
    } catch (error) {
      if (!(error instanceof RunError)) throw error
      code ||= 2
      print(`${error.message}\nagain: ${commandOf(plan)}`)
    }
  })
  print(`live: ${(livedMs / 24 / HOUR_MS).toFixed(1)} course-days in ${runs} runs`)
  return code
}

async function shrinkAndSave(plan: PlanOrSeed, { wrong: [first] }: Report): Promise<void> {
  if (first === undefined) return
  const endMs = Date.now() + SHRINK_MS
  const fails = async (candidate: Plan) => {
    const report = await runPlan({ plan: candidate, only: first.check }).catch(() => null)
    return report?.wrong.some(({ check }) => check === first.check) ?? false
  }
  const small = await shrink(drawPlan(plan), first.atMs, fails, () => Date.now() > endMs)
  const file = `live-${plan.seed}.json`
  writeFileSync(file, `${JSON.stringify({ check: first.check, ...small })}\n`)
  print(`shrunk to ${small.entries.length} entries: npm run live -- --replay ${file}`)
}

/** Runs a plan twice with the traces in files; returns their first lines that differ. */
async function firstDifference(run: RunOptions): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-live-'))
  try {
    const files = ['one', 'other'].map((name) => join(folder, name))
    await Promise.all(files.map((traceFile) => runPlan({ ...run, traceFile })))
    const [one, other] = files.map((file) => createInterface(createReadStream(file))[Symbol.asyncIterator]())
    for (let line = 1; ; line++) {
      const [here, there] = await Promise.all([one?.next(), other?.next()])
      if (here?.value !== there?.value) return `line ${line}: ${here?.value}\n  other: ${there?.value}`
      if (here?.done) return 'two more runs had the same trace'
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function live(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv)
  if (options.prove !== undefined)
    return (await prove(options.prove === true ? undefined : Number(options.prove), options)) ? 0 : 1
  if (options.untilFailure) return untilFailure(options)
  const plan = planOf(options)
  const run = { plan, untilMs: options.until }
  const reports = await Promise.all([
    runPlan({ ...run, traceFile: options.trace }),
    ...(options.twice ? [runPlan(run)] : []),
  ])
  const [first, second] = reports
  printReport(plan, first, options.json)
  if (second !== undefined && second.trace !== first.trace) {
    print(`the second run has another trace: ${second.trace.slice(0, 16)}\n${await firstDifference(run)}`)
    return 2
  }
  if (first.isPartial) return 2
  return first.wrong.length > 0 ? 1 : 0
}

// the runs stop as well, and report where they were
process.on('SIGINT', () => undefined)
try {
  process.exitCode = await live(process.argv.slice(2))
} catch (error) {
  if (error instanceof Error && 'exitCode' in error && error.exitCode === 0) process.exitCode = 0
  else {
    process.stderr.write(`live: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 2
  }
}
