from rigs.lab.vm.conftest import *
from rigs.lab.vm import test_nvme_logs as t
from rigs.lab.vm import drives
import time
def test_dbg(host):
    m=host.machine
    host.set(t.SERIAL, vendor_id=0x1344, log_pages={"192": t.ocp_page().hex()}, nand_write_ratio=2.5)
    print(m.run("sh","-c","ls -l /dev/nvme*; find / -name nvme_log_program.py 2>/dev/null").output)
    prog=m.run("sh","-c","find / -name nvme_log_program.py 2>/dev/null").output.strip()
    for d in ("/dev/nvme1","/dev/nvme0"):
        b=time.time(); r=m.run("python3","-I","-S",prog,d,"identify","2:512:0","192:512:0"); print(d, time.time()-b, r.status, r.output[-600:], r.errors)
    print(m.run("sh","-c","cat /run/ssd-smart-agent/*nvme* | head -c 3000").output)
    host.restart_agent()
    for i in range(30):
        time.sleep(10)
        r=m.run("sh","-c","grep -l ssd_exporter_nvme_logs /run/ssd-smart-agent/*; ps ax -o pid,etimes,stat,args | grep -E 'smartctl|log_program' | grep -v grep | cut -c1-150").output
        print(i, r)
        if "ssd-smart-agent/" in r: break
    page=host.page()
    for l,v in page.find("ssd_smart_capacitor_health_ratio"): print(l,v)
    for l,v in page.find("ssd_smart_log_missing"): print(l,v)
    assert 0
