import { moreTexts } from '#dashboard/texts/more.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { useHealth } from './use-health.ts'

/** What somebody reads out on the telephone: version, health, clock. */
export function GatewayState() {
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
