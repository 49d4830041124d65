import './more/more.css'
import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { isAtLeast } from '#dashboard/live/pin-prompt.ts'
import { toHash } from '#dashboard/live/route.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { LANGUAGES } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { HelpLink } from '#dashboard/ui/help-link.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { PinUserPanel } from './more/pin-user.tsx'
import { useHealth } from './more/use-health.ts'
import { MORE_PAGES, MORE_SECTIONS, type MorePage, morePageAt } from './more-pages.ts'

const UNITS = ['metric', 'imperial'] as const

/** Language and units of this tablet; by default those of the course. */
function DisplayPreferences() {
  const { preferences } = useDashboard()
  const texts = moreTexts()
  const { language, units } = preferences.choice.value
  return (
    <section class="panel">
      <label class="field">
        {texts.language}
        <select
          value={language ?? ''}
          onChange={({ currentTarget: { value } }) =>
            preferences.choose({ language: LANGUAGES.find((one) => one === value) ?? null })
          }
        >
          <option value="">{texts.asCourse}</option>
          {LANGUAGES.map((one) => (
            <option key={one} value={one}>
              {texts.languages[one]}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        {texts.units}
        <select
          value={units ?? ''}
          onChange={({ currentTarget: { value } }) =>
            preferences.choose({ units: UNITS.find((one) => one === value) ?? null })
          }
        >
          <option value="">{texts.asCourse}</option>
          {UNITS.map((one) => (
            <option key={one} value={one}>
              {texts.unitNames[one]}
            </option>
          ))}
        </select>
      </label>
    </section>
  )
}

const COMPONENTS: ReadonlyMap<string, ComponentType> = new Map(MORE_PAGES.map(({ path, load }) => [path, lazy(load)]))

/** Screen for less frequent tasks, and its pages by address. */
export function MoreScreen() {
  const { router, me } = useDashboard()
  const texts = moreTexts()
  const role = me.value?.user.role ?? 'user'
  const pages = MORE_PAGES.filter((page) => isAtLeast(role, page.role))
  const { rest } = router.route.value
  const asked = morePageAt(rest)
  const open = asked !== undefined && pages.includes(asked) ? asked : undefined
  const Page = COMPONENTS.get(open?.path ?? '')
  if (open?.isWhole === true && Page !== undefined) return <Page key={open.path} />
  if (open !== undefined && Page !== undefined)
    return (
      <div class="page more-page">
        <div class="row">
          <a class="button" href={toHash('more')} aria-label={texts.back}>
            <Icon name="back" />
          </a>
          <h1 class="more-title">{open.title()}</h1>
          <HelpLink topic={open.help} />
        </div>
        <Page key={open.path} />
      </div>
    )
  return (
    <div class="page more-page">
      <div class="row">
        <h1 class="more-title">{texts.title}</h1>
        <HelpLink topic="all" />
      </div>
      {me.value !== null && asked !== undefined && (
        <p class="panel" role="status">
          <strong>{asked.title()}</strong> · {asked.role === 'admin' ? texts.forAdmins : texts.forStaff}
        </p>
      )}
      {asked === undefined && rest !== null && (
        <p class="panel" role="status">
          {texts.noPage(rest)}
        </p>
      )}
      <PinUserPanel />
      {MORE_SECTIONS.map((section) => (
        <Links key={section} title={texts.sections[section]} pages={pages.filter((page) => page.section === section)} />
      ))}
      <DisplayPreferences />
      <GatewayState />
      <SignOut />
    </div>
  )
}

function Links({ title, pages }: { title: string; pages: readonly MorePage[] }) {
  if (pages.length === 0) return null
  return (
    <nav class="panel more-links" aria-label={title}>
      <h2>{title}</h2>
      {pages.map((page) => (
        <a key={page.path} href={`${toHash('more')}/${page.path}`}>
          {page.title()}
          <Icon name="next" />
        </a>
      ))}
    </nav>
  )
}

/** Signs out after a question: signing the tablet in again needs a user with a key. */
function SignOut() {
  const dashboard = useDashboard()
  const texts = moreTexts()
  const [isAsked, ask] = useState(false)
  const { send, fault, isSending } = useSending()
  const signOut = async () => {
    await dashboard.api.call('DELETE /sessions/current')
    dashboard.leave()
  }
  return (
    <>
      <button type="button" class="button" onClick={() => ask(true)}>
        {texts.signOut}
      </button>
      {isAsked && (
        <Dialog title={`${texts.signOut}?`} onCancel={() => ask(false)}>
          <p>{texts.signOutWhy}</p>
          <Fault text={fault} />
          <div class="dialog-buttons">
            <button type="button" class="button" onClick={() => ask(false)}>
              {texts.cancel}
            </button>
            <button type="button" class="button danger" disabled={isSending} onClick={() => void send(signOut)}>
              {texts.signOut}
            </button>
          </div>
        </Dialog>
      )}
    </>
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
      <dl class="facts">
        <dt>cartbarn</dt>
        <dd dir="auto">{site.value.name || '–'}</dd>
        <dt>{texts.version}</dt>
        <dd>{me.value?.version}</dd>
        {health !== null && (
          <>
            <dt>{texts.state}</dt>
            <dd>{health.status === 'ok' ? texts.works : (health.detail ?? texts.broken)}</dd>
            <dt>{texts.clock}</dt>
            <dd>{texts.clockStates[health.clock]}</dd>
          </>
        )}
        {health?.disk !== undefined && (
          <>
            <dt>{texts.disk}</dt>
            <dd>{texts.diskStates[health.disk.state]}</dd>
          </>
        )}
      </dl>
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
