# SPDX-License-Identifier: Apache-2.0
"""simd from Python: publish and receive in shared memory, without a copy.

    import simclient

    with simclient.Client("my-imu") as client:
        imu = client.advertise("my_imu", "sim/Imu")
        with imu.loan() as message:
            message.linear_acceleration.z = 9.81
"""
from ._lib import SimError, lib
from .client import Client
from .clock import Driver, Step, Timer
from .params import Params
from .publisher import Loan, Publisher
from .service import Service, ServiceType
from .subscriber import Copy, Message, Reader, Subscriber
from .types import Field, Type

__version__ = lib.sim_version().decode()
__all__ = ["Client", "Copy", "Driver", "Field", "Loan", "Message", "Params", "Publisher", "Reader", "Service",
           "ServiceType", "SimError", "Step", "Subscriber", "Timer", "Type"]
