// The docs as the gateway serves them at /help/: `shared/help-pages` says which, `help-shelf` reads and renders them once, when
// they are first asked for, `markdown` is how, `help-page` what is around each, and `routes` sends them.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HELP_PAGES, type HelpPage, helpAddress } from '#shared/help-pages.ts'
import type { RenderedDocument, renderMarkdown } from './markdown.ts'

/** Beside the code, in the image too. */
export const DOCS_DIR = fileURLToPath(new URL('../../../docs', import.meta.url))

/** All pages, and the pictures in them. */
export interface HelpShelf {
  pages: ReadonlyMap<HelpPage, RenderedDocument>
  /** Their names below `pictures/`, with where each lies. */
  pictures: ReadonlyMap<string, string>
}

const PICTURE = /^pictures\/([\w-]+\.png)$/
const DOCUMENT = /^([\w-]+)\.md(#.*)?$/

/** Reads and renders what there is of it in a folder. */
export function readHelp(folder: string, render: typeof renderMarkdown): HelpShelf {
  const pictures = new Map<string, string>()
  const resolve = (href: string): string | undefined => {
    if (/^(https?:\/\/|#)/.test(href)) return href
    const [, picture] = PICTURE.exec(href) ?? []
    if (picture !== undefined) {
      pictures.set(picture, join(folder, 'pictures', picture))
      return `/help/pictures/${picture}`
    }
    const [, name, anchor = ''] = DOCUMENT.exec(href) ?? []
    // the same list, as the gateway has it for itself
    if (name === 'api') return `/docs`
    const page = HELP_PAGES.find((one) => one === name)
    return page === undefined ? undefined : `${helpAddress(page)}${anchor}`
  }
  const pages = HELP_PAGES.flatMap((page): [HelpPage, RenderedDocument][] => {
    const path = join(folder, `${page}.md`)
    return existsSync(path) ? [[page, render(readFileSync(path, 'utf8'), resolve)]] : []
  })
  return { pages: new Map(pages), pictures }
}
