import '#dashboard/ui/pages.css'
import './more/more.css'
import type { ComponentType } from 'preact'
import { isAtLeast } from '#dashboard/live/pin-prompt.ts'
import { screensFor, toHash } from '#dashboard/live/route.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { BackToMore } from '#dashboard/ui/back-to-more.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
import { SearchField } from '#dashboard/ui/fields/search-field.tsx'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { useAddress } from '#dashboard/ui/use-address.ts'
import { useTitle } from '#dashboard/ui/use-title.ts'
import { PinUserPanel } from './more/pin-user.tsx'
import { useHealth } from './more/use-health.ts'
import { MORE_PAGES, MORE_SECTIONS, type MorePage, morePageAt, type PagePath } from './more-pages.ts'

// the keys of the record are the sections
const SECTION_NAMES = Object.keys(MORE_SECTIONS) as (keyof typeof MORE_SECTIONS)[]

/** Language and units of this tablet; by default those of the course. */
function DisplayPreferences() {
  const { preferences } = useDashboard()
  const texts = moreTexts()
  const { language, units } = preferences.choice.value
  const usual = { '': texts.asCourse }
  return (
    <section class="panel">
      <SelectField
        name={texts.language}
        value={language ?? ''}
        options={{ ...usual, ...texts.languages }}
        onChoose={(chosen) => preferences.choose({ language: chosen === '' ? null : chosen })}
      />
      <SelectField
        name={texts.units}
        value={units ?? ''}
        options={{ ...usual, ...texts.unitNames }}
        onChoose={(chosen) => preferences.choose({ units: chosen === '' ? null : chosen })}
      />
    </section>
  )
}

const COMPONENTS: ReadonlyMap<string, ComponentType> = new Map(MORE_PAGES.map(({ path, load }) => [path, lazy(load)]))

/** Screen for less frequent tasks, and its pages by address. */
export function MoreScreen() {
  const { router, me } = useDashboard()
  const texts = moreTexts()
  const { rest } = router.route.value
  const asked = morePageAt(rest)
  const open = asked !== undefined && isAtLeast(me.value?.user.role ?? 'user', asked.role) ? asked : undefined
  const Page = COMPONENTS.get(open?.path ?? '')
  const title = open === undefined ? texts.title : (texts.pages[open.path][0] ?? texts.title)
  useTitle(title)
  if (open === undefined || Page === undefined) return <Overview asked={asked} />
  if (open.shape === 'whole') return <Page key={open.path} />
  return (
    <div class={`page ${open.shape}`}>
      <header class="row">
        <BackToMore />
        <h1 class="grow">{title}</h1>
        <HelpLink topic={open.path} />
      </header>
      <div class="content">
        <Page key={open.path} />
      </div>
    </div>
  )
}

/** Tiles of all pages, and what concerns this tablet. */
function Overview({ asked }: { asked: MorePage | undefined }) {
  const { router, me } = useDashboard()
  const texts = moreTexts()
  const [typed, setTyped] = useAddress('search')
  const { rest } = router.route.value
  const wanted = typed.trim().toLowerCase()
  const role = me.value?.user.role ?? 'user'
  // on a phone the rail offers one of the two
  const screens = screensFor(me.value?.role ?? 'user').flatMap((screen) =>
    screen === 'pace' || screen === 'evening' ? [screen] : [],
  )
  const isFound = ({ path }: { path: PagePath }) =>
    texts.pages[path].some((text) => text.toLowerCase().includes(wanted))
  const sections = [
    { name: 'onPhone' as const, tiles: screens.map((path) => ({ path, href: toHash(path) })) },
    ...SECTION_NAMES.map((name) => ({
      name,
      tiles: MORE_SECTIONS[name]
        .filter((page) => isAtLeast(role, page.role))
        .map(({ path }) => ({ path, href: toHash('more', path) })),
    })),
  ].map(({ name, tiles }) => ({ name, tiles: tiles.filter(isFound) }))
  return (
    <div class="page">
      <header class="row">
        <h1 class="grow">{texts.title}</h1>
        <SearchField name={texts.search} value={typed} onSearch={setTyped} />
        <HelpLink topic="all" />
      </header>
      {rest !== null && me.value !== null && (
        <p class="panel" role="status">
          {asked === undefined
            ? shellTexts().noPage(rest)
            : `${texts.pages[asked.path][0]} · ${asked.role === 'admin' ? texts.forAdmins : shellTexts().forStaff}`}
        </p>
      )}
      {wanted === '' && <PinUserPanel />}
      {sections.every(({ tiles }) => tiles.length === 0) && <p role="status">{texts.noneFound}</p>}
      {sections.map(({ name, tiles }) => (
        <Tiles key={name} name={name} tiles={tiles} />
      ))}
      {wanted === '' && (
        <div class="content">
          <DisplayPreferences />
          <GatewayState />
          <SignOut />
        </div>
      )}
    </div>
  )
}

interface TilesProps {
  name: keyof typeof MORE_SECTIONS | 'onPhone'
  tiles: readonly { path: PagePath; href: string }[]
}

function Tiles({ name, tiles }: TilesProps) {
  const texts = moreTexts()
  if (tiles.length === 0) return null
  const title = name === 'onPhone' ? shellTexts().screens : texts.sections[name]
  return (
    <nav class={`tiles ${name}`} aria-label={title}>
      {name !== 'onPhone' && <h2>{title}</h2>}
      {tiles.map(({ path, href }) => (
        <a key={path} class="panel" href={href}>
          <strong>{texts.pages[path][0]}</strong>
          <span class="small">{texts.pages[path][1]}</span>
        </a>
      ))}
    </nav>
  )
}

/** Signs out after a question: signing the tablet in again needs a user with a key. */
function SignOut() {
  const dashboard = useDashboard()
  const texts = moreTexts()
  const signOut = async () => {
    await dashboard.api.call('DELETE /sessions/current')
    dashboard.leave()
  }
  return (
    <p>
      <AskButton action={texts.signOut} title={`${texts.signOut}?`} means={texts.signOutWhy} onAnswer={signOut} />
    </p>
  )
}

/** Version, health and clock, which users read out on the telephone. */
function GatewayState() {
  const { me, site } = useDashboard()
  const texts = moreTexts()
  const { health } = useHealth()
  return (
    <section class="panel">
      <h2>{texts.gateway}</h2>
      <Facts
        of={[
          ['cartbarn', site.value.name || '–'],
          [texts.version, me.value?.version],
          [
            texts.state,
            health === null ? null : health.status === 'ok' ? texts.works : (health.detail ?? texts.broken),
          ],
          [texts.clock, health === null ? null : texts.clockStates[health.clock]],
          [texts.disk, health?.disk === undefined ? null : texts.diskStates[health.disk.state]],
        ]}
      />
      {health?.went_back !== undefined && (
        <>
          <p>{texts.wentBack(health.went_back.from, health.went_back.to)}</p>
          <p lang="en">{health.went_back.detail}</p>
        </>
      )}
      {health?.damage !== undefined && <p>{texts.damage}</p>}
    </section>
  )
}
