// npm run live: days and months of a course in virtual time, and checks of the responses of its gateway.
import { InvalidArgumentError } from '@commander-js/extra-typings'
import { createCommandLine, parseCommandLine, wholeNumber } from '#scripts/cli/command-line.ts'
import { BREAKS } from './breaks.ts'
import { MOODS, type Mood, type Plan } from './plan.ts'
import { type Report, runPlan } from './run-plan.ts'

function moodOf(text: string): Mood {
  const mood = MOODS.find((one) => one === text)
  if (mood === undefined) throw new InvalidArgumentError(`It must be one of ${MOODS.join(', ')}.`)
  return mood
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

function virtualTime(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const time = [(ms / 3_600_000) % 24, (ms / 60_000) % 60, (ms / 1000) % 60].map(two).join(':')
  return `${Math.floor(ms / 86_400_000)}d${time}`
}

function parseOptions(argv: readonly string[]) {
  const command = createCommandLine('live', process)
    .description('Runs a gateway through days of virtual time; the exit code is 1 if a response is wrong.')
    .option('--days <n>', 'local days', wholeNumber(1, 400), 1)
    .option('--carts <n>', 'carts', wholeNumber(1, 500), 12)
    .option('--seed <n>', 'seed of everything that happens by chance', wholeNumber(0), 1)
    .option('--mood <mood>', `what breaks: ${MOODS.join(', ')}`, moodOf, 'ordinary')
    .option('--start <date>', 'first local day', dateOf, '2026-05-01')
    .option('--replay <seed>', 'the run of a seed again', wholeNumber(0))
    .option('--until <time>', 'stops at that virtual time, such as 3d04:12:07', untilOf)
    .option('--trace <file>', 'writes all bytes on all lines, and the log')
    .option('--twice', 'runs twice; both must have the same trace')
    .option('--prove [check]', 'breaks the product at the place of each check, and prints which check finds it when')
    .option('--json', 'prints the result as JSON')
  return parseCommandLine(command, argv).opts()
}

function printReport(plan: Omit<Plan, 'entries'>, report: Report): void {
  const { wrong, deeds, starts, looks, times, trace, checks } = report
  for (const { check, atMs, subject = 'gateway', is, expected } of wrong.slice(0, 5))
    print(`check ${check}, ${virtualTime(atMs - report.startMs)}, ${subject}: ${is}\n  expected: ${expected}`)
  if (wrong.length > 0)
    for (const deed of deeds)
      print(`  ${virtualTime(deed.atMs - report.startMs)} ${JSON.stringify({ ...deed, atMs: undefined })}`)
  const { seed, days, carts, mood, start } = plan
  const head = `live: seed ${seed}, ${days} days, ${carts} carts, ${times} times, ${starts - 1} restarts`
  print(`${head}, ${looks} looks, ${checks} checks, ${wrong.length} wrong, trace ${trace.slice(0, 16)}`)
  if (wrong.length > 0)
    print(`again: npm run live -- --days ${days} --carts ${carts} --mood ${mood} --start ${start} --seed ${seed}`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Breaks the product once for each check; false if one is not found by its check. */
async function prove(seed: number, only?: number): Promise<boolean> {
  let allFound = true
  for (const { check, how, days = 1, mood = 'quiet', ...edit } of BREAKS.filter(
    (one) => only === undefined || one.check === only,
  )) {
    const plan = { seed, days, carts: 12, mood, start: '2026-05-01' } as const
    const { wrong, startMs } = await runPlan({ plan, edits: [edit], only: check })
    const [found] = wrong
    allFound &&= found !== undefined
    print(`${check}\t${how}\t${found === undefined ? 'not found' : virtualTime(found.atMs - startMs)}`)
  }
  return allFound
}

async function live(argv: readonly string[]): Promise<number> {
  const { days, carts, seed, replay, mood, start, until, trace, twice, prove: proves, json } = parseOptions(argv)
  if (proves !== undefined) return (await prove(seed, proves === true ? undefined : Number(proves))) ? 0 : 1
  const plan = { days, carts, seed: replay ?? seed, mood, start }
  const options = {
    plan,
    ...(trace === undefined ? {} : { traceFile: trace }),
    ...(until === undefined ? {} : { untilMs: until }),
  }
  const reports = await Promise.all([
    runPlan(options),
    ...(twice ? [runPlan({ plan, ...(until === undefined ? {} : { untilMs: until }) })] : []),
  ])
  const [first, second] = reports
  if (json) print(JSON.stringify(first))
  else printReport(plan, first)
  if (second !== undefined && second.trace !== first.trace) {
    print(`the second run has another trace: ${second.trace.slice(0, 16)}`)
    return 2
  }
  return first.wrong.length > 0 ? 1 : 0
}

try {
  process.exitCode = await live(process.argv.slice(2))
} catch (error) {
  if (error instanceof Error && 'exitCode' in error && error.exitCode === 0) process.exitCode = 0
  else {
    process.stderr.write(`live: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 2
  }
}
