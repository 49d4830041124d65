import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { z } from 'zod'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** Evaluated outside the page's own scripts, so that its policy does not apply; nothing is loaded. */
const AUDIT = `axe.run(document, {
  runOnly: { type: 'tag', values: ${JSON.stringify(RULES)} },
  rules: { 'target-size': { enabled: true } },
  resultTypes: ['violations'], preload: false,
})`

/** Finds controls beyond the side edges, where the page does not scroll. */
const OUTSIDE_THE_SCREEN = `(() => {
  const scrolls = (element) => {
    for (let above = element.parentElement; above !== null; above = above.parentElement)
      if (/auto|scroll/.test(getComputedStyle(above).overflowX) && above.scrollWidth > above.clientWidth + 1) return true
    return false
  }
  return [...document.querySelectorAll('a, button, input, select, textarea')]
    .filter((element) => {
      const { left, right, width } = element.getBoundingClientRect()
      return width > 1 && (left < -1 || right > innerWidth + 1) && !scrolls(element)
    })
    .map((element) => element.outerHTML.slice(0, 200))
})()`

const resultSchema = z.object({
  violations: z.array(
    z.object({
      id: z.string(),
      help: z.string(),
      nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })),
    }),
  ),
})

let source: string | undefined

/** Returns the findings of axe-core for the current page against WCAG 2.2 AA, one text for each place. */
export async function audit(page: Page): Promise<string[]> {
  source ??= readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
  await page.evaluate(source)
  const { violations } = resultSchema.parse(await page.evaluate(AUDIT))
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id} (${help}): ${html}\n    ${lines(failureSummary)}`),
  )
}

/** Throws with all findings of axe-core, and with the controls that a finger cannot reach. */
export async function assertAccessible(page: Page): Promise<void> {
  const found = await audit(page)
  if (found.length > 0) throw new Error(`${found.length} violations of WCAG 2.2 AA:\n  ${found.join('\n  ')}`)
  const outside = z.array(z.string()).parse(await page.evaluate(OUTSIDE_THE_SCREEN))
  if (outside.length > 0) throw new Error(`beside the screen:\n  ${outside.join('\n  ')}`)
}

function lines(summary: string): string {
  return summary.split('\n').slice(1).join('; ').trim()
}
