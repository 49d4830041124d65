import { useEffect, useState } from 'preact/hooks'
import { NotActed } from '#dashboard/live/person-gate.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'

/** What only an admin is shown: asks who it is where that is needed. `load` is the same one each time. */
export function useAdminList<List>(load: () => Promise<List>, everyMs?: number) {
  const { gate, line } = useDashboard()
  const [list, setList] = useState<List | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [isTurnedDown, turnDown] = useState(false)
  const again = async () => {
    setFault(null)
    turnDown(false)
    try {
      setList(await gate.act(load))
    } catch (error) {
      if (error instanceof NotActed) turnDown(true)
      else setFault(refusalText(error))
    }
  }
  useEffect(() => void again(), [])
  const isKept = list !== null && everyMs !== undefined && line.state.value.kind === 'live'
  useEffect(() => {
    if (!isKept) return
    // nobody is asked for a PIN by what goes on by itself
    const timer = setInterval(() => void load().then(setList, () => undefined), everyMs)
    return () => clearInterval(timer)
  }, [isKept, everyMs])
  return { list, fault, isTurnedDown, again }
}
